"""Where Spark runs: on this machine, on a cluster, or behind a Connect server.

Law: what runs on this machine is bound to loopback and to nothing else.
"""

import os
import re
import socket
from contextlib import closing
from pathlib import Path
from urllib.parse import urlsplit

from pipelines.spark.environment.java import Java, home_for_executors

LOOPBACK = "127.0.0.1"
ANY = "0.0.0.0"  # noqa: S104  only where the declared address is not one of this machine
LOCAL = "local[*]"
EXPECTED = (
    '"local[*]", "local-cluster[2,1,1024]", "spark://host:7077", "yarn", "k8s://https://host:6443" '
    'or "sc://host:15002"'
)
_THREADS = re.compile(r"local(?:\[(\*|[1-9][0-9]*)(?:, *[1-9][0-9]*)?\])?")
_PROCESSES = re.compile(r"local-cluster\[ *[1-9][0-9]* *, *[1-9][0-9]* *, *[1-9][0-9]* *\]")
_STANDALONE = re.compile(r"spark://[^\s,/:]+:[0-9]+(,[^\s,/:]+:[0-9]+)*")
_OTHERS = re.compile(r"yarn|k8s://\S+|sc://\S+")


def is_master(text: str) -> bool:
    """Whether a text names a master that Fencepost can use."""
    forms = (_THREADS, _PROCESSES, _STANDALONE, _OTHERS)
    return any(form.fullmatch(text) for form in forms)


def is_threads(master: str) -> bool:
    """Whether tasks are threads of the driver's JVM, and their workers its children."""
    return _THREADS.fullmatch(master) is not None


def threads(master: str) -> int | None:
    """Give the tasks at a time that a local master names; None for as many as there are cores."""
    found = _THREADS.fullmatch(master)
    if found is None or found[1] == "*":
        return None
    return int(found[1] or 1)


def is_here(master: str) -> bool:
    """Whether all executors run on this machine, started by the driver and ended with it."""
    return is_threads(master) or _PROCESSES.fullmatch(master) is not None


def is_connect(master: str) -> bool:
    """Whether the driver is elsewhere, behind a server of Spark Connect."""
    return master.startswith("sc://")


def addresses(master: str, driver_host: str | None) -> dict[str, str]:
    """Give the settings of where executors find the driver; Spark finds out where we say nothing.

    Without `driver_host` it is the address of this machine on the way to the master.
    """
    host = driver_host or (LOOPBACK if is_here(master) else _on_the_way_to(master))
    if host is None:
        return {}
    bound = host if _is_of_this_machine(host) else ANY
    return {"spark.driver.host": host, "spark.driver.bindAddress": bound}


def jvm_environment(master: str, folder: Path, jars: Path, chosen: Java) -> dict[str, str]:
    """Give the variables that a driver's JVM needs beyond ours, to start executors by itself.

    A `local-cluster` keeps its executors' folders in SPARK_HOME, so it gets one in `folder`.
    """
    if is_threads(master) or not is_here(master):
        return {}
    home = folder / "home"
    home.mkdir()
    (home / "jars").symlink_to(jars)
    return {
        "JAVA_HOME": str(home_for_executors(chosen, folder)),
        "SPARK_HOME": str(home),
        "SPARK_SCALA_VERSION": "2.13",
        "SPARK_LOCAL_IP": LOOPBACK,
        "SPARK_LOCAL_HOSTNAME": LOOPBACK,
    }


def configurations() -> list[Path]:
    """List the folders of a cluster's own settings: a JVM reads them on its class path."""
    named = map(os.environ.get, ("SPARK_CONF_DIR", "HADOOP_CONF_DIR", "YARN_CONF_DIR"))
    folders = [Path(folder) for folder in named if folder]
    return [folder for folder in dict.fromkeys(folders) if folder.is_dir()]


def _on_the_way_to(master: str) -> str | None:
    address = urlsplit(master.removeprefix("k8s://").partition(",")[0])
    if address.hostname is None:
        return None
    try:
        with closing(socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) as way:
            way.connect((address.hostname, address.port or 443))  # sends nothing
            return str(way.getsockname()[0])
    except OSError:
        return None


def _is_of_this_machine(host: str) -> bool:
    try:
        with closing(socket.socket()) as listening:
            listening.bind((host, 0))
    except OSError:
        return False
    return True
