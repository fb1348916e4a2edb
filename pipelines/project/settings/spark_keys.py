"""The keys of [run] that say where Spark runs, and how its settings are read."""

import os
import re
from collections.abc import Iterator, Mapping
from typing import Any

from fencepost.errors import InputError
from pipelines.project.settings.declaration import defaulted, optional
from pipelines.project.settings.values import TEXT, Read, shown, unlike
from pipelines.spark.masters import EXPECTED, is_master

Pairs = tuple[tuple[str, str], ...]

PREFIX = "spark."
SECRET = re.compile(
    r"secret|password|token|access[._]?key|account[._]?key|credential", re.IGNORECASE
)
_VARIABLE = re.compile(r"env:([A-Za-z_][A-Za-z0-9_]{0,127})")
OURS = {
    "spark.master": "it is the key master of [run]",
    "spark.submit.deployMode": "the driver is this process",
    "spark.sql.session.timeZone": "Fencepost counts in UTC",
    "spark.python.daemon.module": "Fencepost brings its own",
    "spark.driver.host": "it is the key driver_host of [run]",
}
"""Settings that nobody else may set, and why."""


def _master(given: object) -> str:
    if isinstance(given, str) and is_master(given):
        return given
    raise unlike(given, MASTER_TEXT.expected)


def _settings(given: object) -> Pairs:
    if not isinstance(given, dict):
        raise unlike(given, SETTINGS.expected)
    pairs = tuple(sorted(_flat(given)))
    for name, value in pairs:
        if name in OURS:
            raise ValueError(f"{shown(name)} cannot be set here: {OURS[name]}")
        if SECRET.search(name) and not _VARIABLE.fullmatch(value):
            raise ValueError(
                f"{shown(name)} looks like a secret, which belongs into a variable of the "
                'environment and into no file: give "env:NAME"'
            )
    return pairs


def _flat(given: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, str]]:
    """Give full names and texts; TOML reads a name that is not quoted as tables in tables."""
    for key, value in given.items():
        name = before + key
        if isinstance(value, dict):
            yield from _flat(value, f"{name}.")
        elif isinstance(value, bool):
            yield _full(name), str(value).lower()
        elif isinstance(value, str | int | float):
            yield _full(name), str(value)
        else:
            raise unlike(value, f"{EXPECTED_VALUE} for {name}")


def _full(name: str) -> str:
    return name if name.startswith(PREFIX) else PREFIX + name


def spoken(settings: Pairs, environment: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Give the settings with each `env:NAME` replaced; InputError if that variable is not set."""
    values = {}
    for name, value in settings:
        found = _VARIABLE.fullmatch(value)
        if found is not None and not environment.get(found[1]):
            raise InputError(f"[run.spark] {name}: the variable {found[1]} is not set")
        values[name] = value if found is None else environment[found[1]]
    return values


EXPECTED_VALUE = "a text, a number, true or false"
MASTER_TEXT = Read(f"a master like {EXPECTED}", _master)
SETTINGS = Read("a table of Spark's settings", _settings)

MASTER = defaulted(
    "master",
    MASTER_TEXT,
    '"local[*]"',
    'or a cluster: "spark://host:7077", "yarn", "k8s://…", "sc://…"',
    "Where Spark runs: on this machine, on a standalone cluster, on YARN or Kubernetes with this "
    "process as the driver, or behind a server of Spark Connect (`sc://`). On a cluster the lake "
    "and the landing folders must be where all machines find them: a shared folder, or an object "
    "store. Inside `spark-submit`, a notebook or a job of a platform, the session that is there "
    "is used.",
    variable="FENCEPOST_MASTER",
)
DRIVER_HOST = optional(
    "driver_host",
    TEXT,
    "",
    "The address at which a cluster's executors find this process. Default: this machine's "
    "address on the way to the master. Set it where that is not reachable: in a container, or "
    "behind NAT.",
    example='"10.0.0.5"',
    variable="FENCEPOST_DRIVER_HOST",
)
SPARK = defaulted(
    "spark",
    SETTINGS,
    "{}",
    "settings of Spark, by name",
    "Any setting of Spark; those of Fencepost's own come first, and these over them. "
    '`"env:NAME"` takes the value of a variable, which secrets must.',
    example='{ "spark.executor.memory" = "4g" }',
)
