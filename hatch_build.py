"""How the wheel is built: the rooms of the application stand below `fencepost/_app`.

In the repository `assets`, `pipelines` and `schemas` are folders at the top. Installed under these
names they would clash with packages that many projects have, so the wheel has them as
`fencepost._app.assets` and so on, and every import of them is rewritten as it is copied.

Law: the wheel installs one top-level package, `fencepost`, and a module of ours that is named in a
string stops the build, since nothing would rewrite it: name it by `__name__`.
"""

import ast
import re
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

APP = "fencepost._app"
ROOMS = ("assets", "pipelines", "schemas")
DOORS = ("__main__.py", "dagster.py", "files.py", "lake.py")
"""The modules of fencepost/ that import from the rooms."""
_NAMED = re.compile(
    rf"^(?:{'|'.join(ROOMS)})(?:\.[a-z_]+)+$|\b(?:from|import|-m) (?:{'|'.join(ROOMS)})\b"
)


class Rooms(BuildHookInterface):  # type: ignore[type-arg]
    """Puts the rooms into the wheel, imports rewritten; an editable install needs none of it."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Copy the rooms to where the builder takes them from."""
        if version == "editable":
            return
        root = Path(self.root)
        made = self._made = Path(tempfile.mkdtemp(prefix="fencepost-wheel-"))
        (made / "__init__.py").write_text(
            f'"""The rooms of the application: {", ".join(ROOMS)}."""\n'
        )
        doors = [root / "fencepost" / name for name in DOORS]
        for source in [*(file for room in ROOMS for file in _files(root / room)), *doors]:
            target = made / source.relative_to(root)
            target.parent.mkdir(parents=True, exist_ok=True)
            if source.suffix == ".py":
                target.write_text(rewritten(source.read_text("utf-8"), str(source)), "utf-8")
            else:
                shutil.copyfile(source, target)
        included = build_data["force_include"]
        included[str(made / "__init__.py")] = "fencepost/_app/__init__.py"
        for room in ROOMS:
            included[str(made / room)] = f"fencepost/_app/{room}"
        for door in doors:
            included[str(made / "fencepost" / door.name)] = f"fencepost/{door.name}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Leave nothing behind."""
        del version, build_data, artifact_path
        if made := getattr(self, "_made", None):
            shutil.rmtree(made)


def _files(room: Path) -> Iterator[Path]:
    for file in sorted(room.rglob("*")):
        if file.is_file() and "__pycache__" not in file.parts:
            yield file


def rewritten(text: str, where: str) -> str:
    """Rewrite the imports of the rooms in a module's text; every line stays where it is."""
    lines = text.splitlines(keepends=True)
    tree = ast.parse(text)
    prose = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            if node.module.partition(".")[0] in ROOMS:
                _replace(lines, node, f"from {node.module}", f"from {APP}.{node.module}")
        elif isinstance(node, ast.Import):
            for alias in node.names:
                _rewrite_plain(lines, node, alias, where)
        elif isinstance(node, ast.Constant) and id(node) not in prose and _names_one(node.value):
            raise ValueError(
                f"{where}:{node.lineno} names a module in a string: {node.value!r}. In the wheel "
                f"it is called otherwise: build the name from __name__"
            )
    return "".join(lines)


def _names_one(value: object) -> bool:
    return isinstance(value, str) and _NAMED.search(value) is not None


def _rewrite_plain(lines: list[str], node: ast.Import, alias: ast.alias, where: str) -> None:
    """Rewrite `import schemas`; `import schemas.table` would bind another name, and is refused."""
    if alias.name.partition(".")[0] not in ROOMS:
        return
    if "." in alias.name or len(node.names) > 1:
        raise ValueError(f"{where}:{node.lineno}: write `from … import …` for a module of ours")
    _replace(lines, node, f"import {alias.name}", f"from {APP} import {alias.name}")


def _replace(lines: list[str], node: ast.stmt, old: str, new: str) -> None:
    line = lines[node.lineno - 1]
    before, after = line[: node.col_offset], line[node.col_offset :]
    lines[node.lineno - 1] = before + after.replace(old, new, 1)
