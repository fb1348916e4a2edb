"""What a job of Spark ended with is told as what it was: a death, an error of ours, or a bug."""

import pytest

from fencepost.errors import (
    FencepostError,
    LakeError,
    SparkError,
    StorageError,
    StoreUnavailable,
    WorkerError,
)
from pipelines.spark import session
from pipelines.spark.runner import said_by_spark

DIED = "Job aborted\nSparkException: Python worker exited unexpectedly (crashed): none\n\tat x"


@pytest.mark.fault(8, 9)
@pytest.mark.parametrize(
    ("code", "text", "kind", "words"),
    [
        (-9, "Answer from Java side is empty", SparkError, "^Spark's Java was ended by SIGKILL in"),
        (3, "[Errno 111] Connection refused", SparkError, "^Spark's Java ended with 3 in the mid"),
        (-9, DIED, SparkError, "What was committed is kept: run the same command again"),
        (
            None,
            DIED,
            WorkerError,
            r"ended its worker 3 times: Python worker exited .*\(crashed\)\. What",
        ),
        (None, "at y\nfencepost.errors.LakeError: it is torn\n", LakeError, "^it is torn$"),
        (None, "at y\nfencepost.errors.StoreUnavailable: it is slow\n", StoreUnavailable, "^it is"),
        (-9, "OSError: [Errno 28] No space left: '/lake/a'", StorageError, "^/lake/a: No space"),
    ],
)
def test_who_ended_is_named(monkeypatch, code, text, kind, words) -> None:
    monkeypatch.setattr(session, "ended", lambda _: code)
    with pytest.raises(FencepostError, match=words) as told, said_by_spark():
        raise RuntimeError(text)
    assert type(told.value) is kind


def test_a_bug_in_a_task_is_raised_as_it_came(monkeypatch) -> None:
    monkeypatch.setattr(session, "ended", lambda _: None)
    bug = RuntimeError("Job aborted\nKeyError: 'price'\n")
    with pytest.raises(RuntimeError) as told, said_by_spark():
        raise bug
    assert told.value is bug
