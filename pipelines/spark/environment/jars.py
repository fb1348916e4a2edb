"""The two jars that make Delta tables of Spark's files.

Delta lists some twenty more, 90 MB; Spark brings those that are needed. These two are fetched
once, by Spark's own resolver, and stored beside the environment: later starts need no network.

Law: a jar is used only if it has the checksum declared here.
"""

import hashlib
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from fencepost.text import size_in_words
from pipelines.disk.atomic import replacing
from pipelines.spark.environment import jvm, trust
from pipelines.spark.environment.faults import SetupError
from pipelines.spark.environment.java import Java
from pipelines.spark.environment.place import Place

PATIENCE = 900.0
"""Seconds until a download is given up."""


@dataclass(frozen=True)
class Jar:
    """A jar by its coordinates, `group:artifact:version`, and what it must be."""

    group: str
    artifact: str
    version: str
    size: int
    sha256: str

    @property
    def coordinates(self) -> str:
        """Its path in a jar repository."""
        return f"{self.group}:{self.artifact}:{self.version}"

    @property
    def file(self) -> str:
        """The file's name, here as in any repository."""
        return f"{self.artifact}-{self.version}.jar"

    def fault(self, folder: Path) -> str | None:
        """Say what is wrong with the file in a folder, reading it whole: 10 ms for both jars."""
        path = folder / self.file
        with suppress(FileNotFoundError):
            size = path.stat().st_size
            if size != self.size:
                return f"{path} has {size:,} bytes, expected {self.size:,}"
            found = hashlib.sha256(path.read_bytes()).hexdigest()
            return None if found == self.sha256 else f"{path} has the SHA-256 {found}"
        return f"{path} is not there"


DELTA_SPARK = Jar(
    "io.delta",
    "delta-spark_4.1_2.13",
    "4.4.0",
    9_471_929,
    "75a9400986853c061f5109f012547de2545a5759e5e752e5ef633dabe16a4f10",
)
DELTA_STORAGE = Jar(
    "io.delta",
    "delta-storage",
    "4.4.0",
    113_863,
    "c46735481fa8e326b0957be02b4420cbcab4b325bb08009b7f2045a95133f1cc",
)
JARS = (DELTA_SPARK, DELTA_STORAGE)
SIZE = size_in_words(sum(jar.size for jar in JARS))
SIGNS = ("Exception", "PKIX", "not found. url", "Server access error", "proxy server that is not")
"""Signs of those lines of the resolver that say why it failed."""

NEEDLESS = (
    "org.apache.hadoop:hadoop-client-api",
    "org.apache.hadoop:hadoop-client-runtime",
    "io.delta:delta-kernel-api",
    "io.delta:delta-kernel-defaults",
    "io.delta:delta-kernel-unitycatalog",
    "io.unitycatalog:unitycatalog-client",
    "io.unitycatalog:unitycatalog-hadoop",
)


def here(place: Place) -> list[Path]:
    """List the jars for a session, checking only their sizes; SetupError where one is missing."""
    paths = [place.jars / jar.file for jar in JARS]
    for jar, path in zip(JARS, paths, strict=True):
        if not path.is_file() or path.stat().st_size != jar.size:
            raise SetupError(
                f"{path} is not there, or not whole. `fencepost doctor --prepare` fetches "
                f"what Spark needs to read Delta tables ({SIZE}, once)."
            )
    return paths


def faults(place: Place) -> list[str]:
    """Say what is wrong with the jars; empty where each is there and has its checksum."""
    return [fault for jar in JARS if (fault := jar.fault(place.jars)) is not None]


def fetch(place: Place, java: Java, say: Callable[[str], None]) -> None:
    """Fetch the jars unless they are there; SetupError says what to do if that fails."""
    if not faults(place):
        return
    say(f"fetching the two Delta jars, {SIZE}, once")
    with tempfile.TemporaryDirectory(prefix="fencepost-jars-") as scratch:
        said = _resolve(java, trust.download_options(place), Path(scratch))
        place.made(place.jars)
        for jar in JARS:
            fetched = Path(scratch) / "jars" / f"{jar.group}_{jar.file}"
            if fetched.is_file():
                with replacing(place.jars / jar.file) as (passing,):
                    shutil.copyfile(fetched, passing)
    if wrong := faults(place):
        raise SetupError(_by_hand(place, wrong, said))


def _resolve(java: Java, options: Sequence[str], scratch: Path) -> str:
    """Let Spark's resolver fill a folder, and return its output."""
    settings = {
        "spark.jars.packages": DELTA_SPARK.coordinates,
        "spark.jars.excludes": ",".join(NEEDLESS),
        "spark.jars.ivy": str(scratch),
    }
    arguments = [part for name, value in settings.items() for part in ("--conf", f"{name}={value}")]
    spoken = [*jvm.SPARK_OPTIONS, *options, jvm.SUBMIT, *arguments, "pyspark-shell"]
    try:
        done = subprocess.run(  # noqa: S603  our own command line
            [java.binary, *spoken],
            env=jvm.environ(
                jvm.spark_jars(), _PYSPARK_DRIVER_CONN_INFO_PATH=str(scratch / "gateway")
            ),
            stdin=subprocess.DEVNULL,  # the gateway that follows the download ends immediately
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            errors="replace",
            timeout=PATIENCE,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"no answer in {PATIENCE / 60:.0f} minutes"
    return done.stdout


def _by_hand(place: Place, wrong: Sequence[str], said: str) -> str:
    listed = "\n".join(
        f"  {jar.coordinates}  {size_in_words(jar.size)}\n    sha256 {jar.sha256}" for jar in JARS
    )
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    relevant = [line for line in lines if any(sign in line for sign in SIGNS)]
    return (
        f"the Delta jars could not be fetched: {'; '.join(wrong)}.\n"
        f"Spark's resolver says: {(relevant or lines or ['nothing'])[0]}\n"
        "Behind a proxy, set HTTPS_PROXY, and SSL_CERT_FILE to the certificates it signs with, and "
        "try again.\n"
        "Or fetch the two files from any Maven repository by hand:\n"
        f"{listed}\n"
        f"and put them into {place.jars}."
    )
