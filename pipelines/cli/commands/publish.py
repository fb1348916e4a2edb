"""`fencepost publish`: register the lake in a catalog, where analysts look.

Law: publishing twice changes nothing; removing deletes no row of the lake.
"""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from pipelines.cli.options import AsJson, Config, LakeFolder, print_json

if TYPE_CHECKING:
    from pipelines.serve.publish import PublishReport

Targets = Annotated[
    list[str] | None,
    typer.Argument(metavar="[TARGET]...", help="Where; default: `publish` of fencepost.toml."),
]


def publish(
    targets: Targets = None,
    *,
    remove: Annotated[bool, typer.Option("--remove", help="Remove it from there.")] = False,
    sql: Annotated[bool, typer.Option("--sql", help="Print the SQL, run nothing.")] = False,
    as_json: AsJson = False,
    config: Config = None,
    lake: LakeFolder = None,
) -> None:
    """Register the lake's tables and views in a catalog: a DuckDB file, Spark's, Athena's.

    Every name has its comment, and so has every column. Publishing again changes only what is
    different; --remove deletes no row. Named in fencepost.toml under [lake] as publish = ["..."],
    a catalog is kept up to date by every run.

    \b
    A target is one of:
      duckdb:FILE               a file with views, for DuckDB and what is built on it
      spark:[CATALOG.]SCHEMA    tables and views, in the catalog of the Spark session
      hive:SCHEMA               tables alone, for Trino and others that cannot read Spark's views
      athena:DATABASE           the same for Athena; with --sql

    \b
    Examples:
      fencepost publish shop.duckdb
      fencepost publish spark:main.shop --sql > shop.sql       for Databricks' SQL editor
      fencepost publish --remove
    """  # noqa: D301
    from pipelines.project.settings import load
    from pipelines.runs.run import session_of
    from pipelines.serve import publish as publishing

    settings = load(config, lake=lake)
    chosen = _targets(targets) or settings.publish
    if not chosen:
        raise typer.BadParameter(
            "say where, like duckdb:lake.duckdb, or name it in fencepost.toml", param_hint="TARGET"
        )
    if sql:
        for target in chosen:
            for statement in publishing.sql_of(settings, target, removal=remove):
                typer.echo(f"{statement};")
        return
    do = publishing.remove if remove else publishing.publish
    reports = [do(settings, target, session_of(settings)) for target in chosen]
    if as_json:
        print_json({"published": [_fields(report) for report in reports]})
        return
    wide = max(len(str(report.target)) for report in reports)
    for report in reports:
        typer.echo(f"{report.target!s:<{wide}}  {_line(report)}")


def _targets(given: list[str] | None) -> list[Any]:
    from pathlib import Path

    from pipelines.project.settings.target import target_of

    try:
        return [target_of(text).begun(Path.cwd()) for text in given or ()]
    except ValueError as why:
        raise typer.BadParameter(str(why), param_hint="TARGET") from None


def _fields(report: "PublishReport") -> dict[str, Any]:
    return {
        "target": str(report.target),
        **vars(report.change),
        "seconds": round(report.seconds, 3),
    }


def _line(report: "PublishReport") -> str:
    """Describe what was done to a target."""
    change = report.change
    done = [f"{change.changed} changed"] if change.changed else []
    done += [f"{change.dropped} dropped"] if change.dropped else []
    return (
        f"{change.entries:>3} entries  {', '.join(done) or 'unchanged':<22}  {report.seconds:.1f} s"
    )
