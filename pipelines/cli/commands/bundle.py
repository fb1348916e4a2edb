"""`fencepost bundle`: what a cluster needs of us, as one archive."""

from pathlib import Path
from typing import Annotated

import typer

from fencepost.text import size_in_words
from pipelines.cli.options import AsJson, print_json

ARCHIVE = Path("fencepost.zip")
ENVIRONMENT = Path("fencepost-env.tar.gz")


def bundle(
    *,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="The file to write.", show_default=False)
    ] = None,
    env: Annotated[
        bool,
        typer.Option("--env", help="The whole Python environment: 200 MB; a virtual one only."),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Pack the code and its compiled kernels for a cluster.

    The archive has 5 MB. Executors need a Python with numpy, numba, pyarrow, pandas, deltalake and
    obstore. The archive of --env has these too, if the Python that it was made from is at the same
    path on every machine. With `master` under [run] the archive goes to executors by itself: this
    command is for spark-submit. Beside it, fencepost_job.py is the program to submit.

    \b
    Examples:
      fencepost bundle
      fencepost bundle --env
    """  # noqa: D301
    from pipelines.spark import bundle as bundled
    from pipelines.spark.environment.place import Place

    def say(line: str) -> None:
        typer.echo(line, err=True)

    archive = (out or (ENVIRONMENT if env else ARCHIVE)).absolute()
    archive.parent.mkdir(parents=True, exist_ok=True)
    make = bundled.make_environment if env else bundled.make
    make(archive, Place.of_this_python(), say)
    job = archive.with_name("fencepost_job.py")
    job.write_text(bundled.JOB, encoding="utf-8")
    submit = bundled.submit(archive, job, is_environment=env)
    if as_json:
        size = archive.stat().st_size
        print_json({"archive": str(archive), "bytes": size, "job": str(job), "submit": submit})
        return
    typer.echo(f"{archive.name}: {size_in_words(archive.stat().st_size)}; submit it with")
    typer.echo("  " + " \\\n    ".join(submit))
