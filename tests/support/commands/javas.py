"""Programs that pass for a Java."""

import stat
from pathlib import Path


def program(path: Path, body: str) -> Path:
    """A shell script."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def java_of(home: Path, specification: str, more: str = "") -> Path:
    """A Java that says of itself what a real one does, and notes each time it is asked."""
    said = (
        f"    java.home = {home}\n    java.specification.version = {specification}\n"
        f"    java.vm.version = {specification}.0.1+7"
    )
    asked = home / "asked"
    return program(home / "bin" / "java", f"echo x >> {asked}\n{more}\ncat >&2 <<'E'\n{said}\nE")
