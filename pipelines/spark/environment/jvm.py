"""The command line of Spark's JVM, and the first contact with it.

PySpark starts its JVM through two shell scripts and a JVM before the JVM, which make the command
line. We make it ourselves: it starts sooner (0.8 s), accepts any Java without a wrapper script,
prints nothing, and the shell's variables change nothing.

Law: nothing of the environment reaches the JVM's command line.
"""

import os
import struct
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from pipelines.spark.environment.faults import SetupError
from pipelines.spark.environment.java import AMBIENT, Java

GATEWAY = "org.apache.spark.api.python.PythonGatewayServer"
SUBMIT = "org.apache.spark.deploy.SparkSubmit"
PATIENCE = 120.0
"""Seconds until a JVM that says nothing is given up."""

# Those of Spark 4.1 (org.apache.spark.launcher.JavaModuleOptions), but for jdk.incubator.vector:
# it serves the linear algebra of spark.ml, prints a warning, and the wheel's Java has none.
OPENED = (
    "java.base/java.lang",
    "java.base/java.lang.invoke",
    "java.base/java.lang.reflect",
    "java.base/java.io",
    "java.base/java.net",
    "java.base/java.nio",
    "java.base/java.util",
    "java.base/java.util.concurrent",
    "java.base/java.util.concurrent.atomic",
    "java.base/jdk.internal.ref",
    "java.base/sun.nio.ch",
    "java.base/sun.nio.cs",
    "java.base/sun.security.action",
    "java.base/sun.util.calendar",
    "java.security.jgss/sun.security.krb5",
)
SPARK_OPTIONS = (
    "-XX:+IgnoreUnrecognizedVMOptions",
    *(f"--add-opens={package}=ALL-UNNAMED" for package in OPENED),
    "-Djdk.reflect.useDirectMethodHandle=false",
    "-Dio.netty.tryReflectionSetAccessible=true",
    "-Dio.netty.allocator.type=pooled",
    "-Dio.netty.handler.ssl.defaultEndpointVerificationAlgorithm=NONE",
    "--enable-native-access=ALL-UNNAMED",
    f"-Dlog4j2.configurationFile={Path(__file__).with_name('log4j2.properties').as_uri()}",
    "-Duser.timezone=UTC",
    # The JVM's own remarks go to stdout, where a command's answer goes; only errors are shown.
    "-Xlog:disable",
    "-Xlog:all=error:stderr",
)
# A single compiler gets 48 MB for its code; a long session of SQL fills that, and dies.
QUICK = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-XX:ReservedCodeCacheSize=240m")
"""For seconds of work: the first compiler alone, and a collector without threads."""

FOREIGN = (*AMBIENT, "SPARK_HOME", "SPARK_CONF_DIR", "PYSPARK_SUBMIT_ARGS", "SPARK_TESTING")


def spark_jars() -> list[Path]:
    """List the jars that PySpark brings, sorted: the archive of classes is valid for this order."""
    found = find_spec("pyspark")
    if found is None or found.origin is None:
        raise SetupError('PySpark is not installed: pip install "fencepost[spark]"')
    return sorted((Path(found.origin).parent / "jars").glob("*.jar"))


def environ(class_path: Sequence[Path], **more: str) -> dict[str, str]:
    """Return the environment of a JVM: ours, without what would change its command line."""
    kept = {name: value for name, value in os.environ.items() if name not in FOREIGN}
    return {**kept, "CLASSPATH": os.pathsep.join(map(str, class_path)), **more}


@dataclass(frozen=True, eq=False)
class Jvm:
    """A JVM that listens to PySpark. It ends when its stdin closes, so never after us."""

    process: "subprocess.Popen[bytes]"
    port: int
    secret: str

    @property
    def alive(self) -> bool:
        """Whether it runs."""
        return self.process.poll() is None

    def let_go(self) -> None:
        """Close its stdin, without waiting: it ends by itself in less than a second."""
        if self.process.stdin is not None:
            self.process.stdin.close()
        self.process.returncode = self.process.returncode or 0  # it will not be polled again

    def end(self, patience: float) -> None:
        """Let it end; kill it if it does not within this many seconds."""
        if self.process.stdin is not None:
            self.process.stdin.close()
        try:
            self.process.wait(patience)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def start(
    java: Java,
    options: Sequence[str],
    class_path: Sequence[Path],
    folder: Path,
    program: Sequence[str] = (GATEWAY,),
    **more: str,
) -> Jvm:
    """Start a JVM for PySpark; `folder` is where it leaves its address, and a report if it crashes.

    Returns once it listens, after about a second. SetupError if it exits or stays silent. `more`
    are variables for its environment.
    """
    address = folder / "gateway"
    process = subprocess.Popen(  # noqa: S603  our own command line
        [java.binary, *SPARK_OPTIONS, f"-XX:ErrorFile={folder}/crash-%p.log", *options, *program],
        env=environ(class_path, _PYSPARK_DRIVER_CONN_INFO_PATH=str(address), **more),
        stdin=subprocess.PIPE,
        stdout=2,
        process_group=0,  # Ctrl-C is for us: Spark ends when we do
    )
    try:
        import pyspark.sql  # noqa: F401  takes half a second, in which the JVM comes up

        _wait_for(process, address, java)
    except BaseException:
        process.kill()
        process.wait()
        raise
    with address.open("rb") as file:
        port, size = struct.unpack(">ii", file.read(8))
        return Jvm(process, port, file.read(size).decode())


def _wait_for(process: "subprocess.Popen[bytes]", address: Path, java: Java) -> None:
    given_up = time.monotonic() + PATIENCE
    while not address.exists():
        if process.poll() is not None:
            raise SetupError(
                f"Java {java.version} ({java.home}, {java.why}) ended with {process.returncode} "
                "before Spark was up; its output is above. `fencepost doctor` checks the "
                "set-up."
            )
        if time.monotonic() > given_up:
            raise SetupError(
                f"Java {java.version} ({java.home}, {java.why}) did not bring Spark up in "
                f"{PATIENCE:.0f} seconds. `fencepost doctor` looks at the set-up."
            )
        time.sleep(0.01)
