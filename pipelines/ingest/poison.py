"""A delivery that kills whoever reads it is found, refused, and stands in nobody's way.

Law: a plan comes to its end as long as a worker can work at all. Where none can, nothing is
refused, and the failure is raised as it came.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from fencepost.errors import FencepostError, WorkerError
from pipelines.ingest.outcome import Turned
from pipelines.ingest.task import Answer, work
from pipelines.ingest.units import Unit
from pipelines.spark.runner import Runner

DEADLY = "deadly"
ATTEMPTS = 2
"""How often a delivery is read alone before it is given up; Spark tries each time again itself."""


def answered(
    runner: Runner, units: Sequence[Unit]
) -> tuple[list[tuple[Unit, Answer]], dict[int, Turned]]:
    """Have the units read; give each with its answer, and the deliveries that nobody survives."""
    try:
        texts = runner.run(work, [unit.to_json() for unit in units])
    except Exception as failure:  # noqa: BLE001
        _raise_what_is_no_death(failure)
        return _one_by_one(runner, units, failure)
    pairs = [(unit, Answer.from_json(text)) for unit, text in zip(units, texts, strict=True)]
    return pairs, {}


def _one_by_one(
    runner: Runner, units: Sequence[Unit], failure: Exception
) -> tuple[list[tuple[Unit, Answer]], dict[int, Turned]]:
    read: list[tuple[Unit, Answer]] = []
    deadly: dict[int, Turned] = {}
    for unit in units:
        alone = _read(runner, unit, 1)
        if isinstance(alone, Answer):
            read.append((unit, alone))
            continue
        for single in _singles(unit):
            answer = _read(runner, single, ATTEMPTS)
            if isinstance(answer, Answer):
                read.append((single, answer))
                continue
            _raise_if_nobody_can_work(runner, failure)
            deadly[single.parts[0].n] = Turned(
                DEADLY,
                f"reading it ended its reader {ATTEMPTS + 1} times: {_first_line(answer)}. It is "
                "left out until it is changed, or retried with `fencepost quarantine retry`",
            )
    return read, deadly


def _read(runner: Runner, unit: Unit, attempts: int) -> Answer | Exception:
    failure: Exception | None = None
    for _ in range(attempts):
        try:
            return Answer.from_json(runner.run(work, [unit.to_json()])[0])
        except Exception as died:  # noqa: BLE001
            _raise_what_is_no_death(died)
            failure = died
    assert failure is not None  # noqa: S101  there was an attempt
    return failure


def _singles(unit: Unit) -> Iterator[Unit]:
    """Give a unit for each delivery of this one."""
    return (replace(unit, parts=(part,)) for part in unit.parts)


def _raise_if_nobody_can_work(runner: Runner, failure: Exception) -> None:
    try:
        runner.run(str.strip, ["nothing to do"])
    except Exception:  # noqa: BLE001
        raise failure from None


def _raise_what_is_no_death(failure: Exception) -> None:
    """Raise what was said on purpose; what a worker died of, Spark alone may know."""
    if isinstance(failure, FencepostError) and not isinstance(failure, WorkerError):
        raise failure


def _first_line(failure: BaseException) -> str:
    lines = str(failure.__cause__ or failure).strip().splitlines()
    cause = next((line for line in reversed(lines) if "Error" in line or "crash" in line), None)
    return (cause or (lines[0] if lines else type(failure).__name__)).strip()[:300]
