"""Which delivery ended its reader, and whether it was the delivery at all.

A job that fails is repeated unit by unit, then delivery by delivery; what ends its worker alone,
again and again, is refused as deadly and the others are taken.

Law: a failure of the platform never marks a delivery. One is blamed only for what its own reading
raised, or for a worker that ended over it, and only while every slot proves that it can read.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from fencepost.errors import FencepostError, StorageError, WorkerError
from pipelines.ingest.deliveries import VANISHED, Rejection
from pipelines.ingest.task import UnitResult, ready, work
from pipelines.ingest.units import ReadUnit
from pipelines.spark import causes
from pipelines.spark.runner import Runner

DEADLY = "deadly"
ATTEMPTS = 2
"""How often a delivery is read alone before it is given up; Spark tries each time again itself."""


def answered(
    runner: Runner, units: Sequence[ReadUnit]
) -> tuple[list[tuple[ReadUnit, UnitResult]], dict[int, Rejection]]:
    """Run the units; give each with its answer, and the deliveries that kill every worker."""
    try:
        texts = runner.run(work, [unit.to_json() for unit in units])
    except Exception as failure:  # noqa: BLE001
        _raise_what_is_no_death(failure)
        _raise_if_nobody_can_work(runner, failure)
        return _one_by_one(runner, units, failure)
    pairs = [(unit, UnitResult.from_json(text)) for unit, text in zip(units, texts, strict=True)]
    return pairs, {}


def refuse_unseen(read: Sequence[tuple[ReadUnit, UnitResult]]) -> None:
    """Raise StorageError where the workers miss a file that this process sees.

    A folder that is not shared with the executors would refuse all that lands.
    """
    for unit, answer in read:
        gone = {outcome.n for outcome in answer.outcomes if outcome.reason == VANISHED}
        for part in unit.parts:
            for file in part.files if part.n in gone else ():
                if (unit.feed.source / file.path).exists():
                    raise StorageError(
                        f"{unit.feed.source / file.path} is here, and Spark's executors do not "
                        "find it: landing folders and the lake must be where every machine of the "
                        "cluster finds them, on a shared folder or an object store. Nothing was "
                        "refused"
                    )


def _one_by_one(
    runner: Runner, units: Sequence[ReadUnit], failure: Exception
) -> tuple[list[tuple[ReadUnit, UnitResult]], dict[int, Rejection]]:
    read: list[tuple[ReadUnit, UnitResult]] = []
    deadly: dict[int, Rejection] = {}
    for unit in units:
        alone = _read(runner, unit, 1)
        if isinstance(alone, UnitResult):
            read.append((unit, alone))
            continue
        for single in _singles(unit):
            answer = _read(runner, single, ATTEMPTS)
            if isinstance(answer, UnitResult):
                read.append((single, answer))
                continue
            _raise_if_nobody_can_work(runner, failure)
            deadly[single.parts[0].n] = Rejection(
                DEADLY,
                f"reading it ended its reader {ATTEMPTS + 1} times: {causes.cause(answer)}. It is "
                "left out until it is changed, or retried with `fencepost quarantine retry`",
            )
    return read, deadly


def _read(runner: Runner, unit: ReadUnit, attempts: int) -> UnitResult | Exception:
    failure: Exception | None = None
    for _ in range(attempts):
        try:
            return UnitResult.from_json(runner.run(work, [unit.to_json()])[0])
        except Exception as died:  # noqa: BLE001
            _raise_what_is_no_death(died)
            failure = died
    assert failure is not None  # noqa: S101  there was an attempt
    return failure


def _singles(unit: ReadUnit) -> Iterator[ReadUnit]:
    """Give a unit for each delivery of this one."""
    return (replace(unit, parts=(part,)) for part in unit.parts)


def _raise_if_nobody_can_work(runner: Runner, failure: Exception) -> None:
    """Raise the failure unless every slot can read: what all fail at is no delivery's fault."""
    try:
        runner.run(ready, ["two rows"] * runner.slots)
    except Exception:  # noqa: BLE001
        raise failure from None


def _raise_what_is_no_death(failure: Exception) -> None:
    """Raise an expected error, and a failure of the platform, as it is."""
    if isinstance(failure, FencepostError):
        if not isinstance(failure, WorkerError):
            raise failure
    elif not causes.is_of_the_task(failure):
        raise failure
