"""Peers that need an environment of their own: what is in it, and how a script runs there.

    make peers-extras    .cache/peers/NAME, by pip; Sedona's jar comes when it first starts

A script is given a folder, and answers with a line of JSON; it sees nothing of Fencepost. A
peer whose environment is not there is passed over, and its line says so.
"""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pipelines.spark.environment import java
from pipelines.spark.environment.place import Place

ROOT = Path(__file__).resolve().parents[2]
PATIENCE = 600.0
"""Seconds until a script is given up."""


@dataclass(frozen=True)
class Apart:
    """A peer by its packages, and the script beside this file that runs it."""

    name: str
    packages: tuple[str, ...]
    script: str

    @property
    def folder(self) -> Path:
        """Its environment."""
        return ROOT / ".cache" / "peers" / self.name

    @property
    def python(self) -> Path:
        """The interpreter in it."""
        return self.folder / "bin" / "python"

    @property
    def is_there(self) -> bool:
        """Whether it is installed."""
        return self.python.exists()

    @property
    def absence(self) -> str:
        """What a line says where it is not."""
        return f"{self.name} is not there: make peers-extras installs it"

    def install(self) -> None:
        """Make the environment, unless it is there."""
        if self.is_there:
            return
        subprocess.run([sys.executable, "-m", "venv", str(self.folder)], check=True)
        pip = [str(self.python), "-m", "pip", "install", "--disable-pip-version-check", "-q"]
        subprocess.run([*pip, *self.packages], check=True)

    def run(self, folder: Path, **given: object) -> Mapping[str, float]:
        """Run the script over what is in a folder; its last line is what it found out."""
        home = java.find(Place.of_this_python()).home
        environment = {**os.environ, "JAVA_HOME": str(home), "TZ": "UTC"}
        for name in ("PYTHONPATH", "SPARK_HOME", "PYSPARK_SUBMIT_ARGS"):
            environment.pop(name, None)
        ran = subprocess.run(
            [str(self.python), str(Path(__file__).parent / self.script), str(folder)],
            input=json.dumps(given),
            capture_output=True,
            text=True,
            env=environment,
            timeout=PATIENCE,
            check=False,
        )
        if ran.returncode:
            raise RuntimeError(f"{self.name}: {ran.stderr[-2000:]}")
        answer: dict[str, float] = json.loads(ran.stdout.splitlines()[-1])
        return answer


SEDONA = Apart(
    "sedona",
    ("pyspark==4.0.1", "pyarrow==23.0.1", "pandas<3"),
    "sedona_script.py",
)
"""Its newest jar is made for Spark 4.0, ours is 4.1."""
FLINK = Apart("flink", ("apache-flink==2.2.1",), "flink_script.py")

if __name__ == "__main__":
    for each in (SEDONA, FLINK):
        print(f"installing {each.name}: {', '.join(each.packages)}", flush=True)
        each.install()
