"""What the base install does, and what a command says that needs more; packages are hidden."""

import subprocess
import sys
from pathlib import Path

import pytest

from fencepost.extras import MODULES
from tests.support.commands.commands import BAND, TICKS, T
from tests.support.commands.files import written

HIDDEN = """
import sys
hidden = set({hidden!r})
class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in hidden:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Hidden())
{program}
"""
COMMAND = "import sys\nfrom fencepost.__main__ import main\nsys.argv[1:] = {arguments!r}\nmain()"
EVERYTHING = [module for modules in MODULES.values() for module in modules]
TOML = "[feeds.ticks]\naxes = ['price']\nsource = 'landing/ticks'\n"
ROWS = TICKS + "".join(f"a,{T.format(at)},{price}\n" for at, price in enumerate((1, 3, 9)))


def run(folder: Path, program: str, hidden: list[str]) -> tuple[int, str]:
    text = HIDDEN.format(hidden=hidden, program=program)
    done = subprocess.run(
        [sys.executable, "-c", text], cwd=folder, capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout + done.stderr


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    written(tmp_path, "fencepost.toml", TOML)
    written(tmp_path, "band.jsonl", BAND)
    written(tmp_path, "ticks.csv", ROWS)
    return tmp_path


@pytest.mark.parametrize(
    "more",
    [
        ["--guess"],
        ["--config", "fencepost.toml"],
        ["--timezone", "UTC", "--ts-column", "ts", "--ties", "first"],
    ],
    ids=" ".join,
)
def test_eval_reads_files_of_any_shape_with_nothing_but_the_base(folder, more):
    evaluate = ["eval", "-q", "band.jsonl", "-t", "ticks=ticks.csv", "-o", "out", *more]
    code, said = run(folder, COMMAND.format(arguments=evaluate), EVERYTHING)
    assert code == 0, said
    assert (folder / "out" / "events.csv").read_text().count("\n") == 3


def test_eval_and_the_api_need_nothing_but_the_base(folder):
    evaluate = ["eval", "-q", "band.jsonl", "-t", "ticks=ticks.csv", "-o", "out"]
    code, said = run(folder, COMMAND.format(arguments=evaluate), EVERYTHING)
    assert code == 0, said
    assert (folder / "out" / "events.csv").read_text().count("\n") == 3
    program = (
        "import fencepost as fp\n"
        "rows = [{'stream_id': 'a', 'ts': f'2026-01-01T00:00:0{n}Z', 'price': p}\n"
        "        for n, p in enumerate((1, 3, 9))]\n"
        "print(fp.evaluate(rows, 'band.jsonl'))\n"
    )
    code, said = run(folder, program, EVERYTHING)
    assert (code, said) == (
        0,
        "<Result: 3 rows read, 3 accepted, 0 rejected; 2 events, 1 transition>\n",
    )


def test_a_lake_needs_no_spark_of_its_own_where_one_process_does_the_work(folder):
    spark = [name for name in MODULES["spark"] if name not in MODULES["lake"]]
    written(folder, "fencepost.toml", TOML + '[run]\nrunner = "here"\n')
    written(folder, "landing/ticks/ticks.csv", ROWS)
    for arguments in (["init"], ["queries", "import", "band.jsonl"], ["run"]):
        code, said = run(folder, COMMAND.format(arguments=arguments), spark)
        assert code == 0, said
    counted = COMMAND.format(arguments=["sql", "select count(*) n from events", "--json"])
    code, said = run(folder, counted, spark)
    assert (code, "2" in said) == (0, True), said


@pytest.mark.parametrize(
    ("arguments", "hidden", "sentence"),
    [
        (["init"], "deltalake", 'pip install "fencepost[lake]"'),
        (["run"], "deltalake", 'pip install "fencepost[lake]"'),
        (["sql", "select 1"], "duckdb", 'pip install "fencepost[lake]"'),
        (["ui"], "dagster", 'pip install "fencepost[dagster]"'),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else None,
)
def test_a_command_says_in_one_sentence_which_extra_it_needs(folder, arguments, hidden, sentence):
    code, said = run(folder, COMMAND.format(arguments=arguments), [hidden])
    assert (code, said) == (2, f"this needs {hidden}, which is not installed: {sentence}\n")


def test_open_lake_says_which_extra_it_needs(folder):
    program = (
        "import fencepost\n"
        "try:\n    fencepost.open_lake('.')\n"
        "except fencepost.FencepostError as why:\n    print(type(why).__name__, why)\n"
    )
    code, said = run(folder, program, ["duckdb"])
    expected = 'this needs duckdb, which is not installed: pip install "fencepost[lake]"'
    assert (code, said) == (0, f"MissingExtra {expected}\n")
