"""Why a job of Spark failed: its task, the worker that ran it, or the platform below both.

Spark hands on texts: a Python traceback within a Java one, within another. What counts is the
traceback of the task, the last line of which is the cause.

Law: only what a task itself raised, or a worker that ended over it, can be blamed on what was read.
"""

import re

DIED = re.compile(r"Python worker exited unexpectedly(?: \(\w+\))?")
"""How Spark reports that a worker ended without an answer."""

_TRACEBACK = "Traceback (most recent call last):"
_FRAME = re.compile(r'^ +File "(?P<file>[^"]+)", line \d+, in ', re.MULTILINE)
_IN_JAVA = re.compile(r"\n\s*(?:at \S+\(|\tat |JVM stacktrace|Driver stacktrace)")
_OF_SPARK = re.compile(r"[/\\]pyspark[/\\]|pyspark\.zip|py4j|cloudpickle")
_OF_PLATFORM = re.compile(
    r"^(?:\w+\.)*(?:ModuleNotFoundError|ImportError|ConnectionError|ConnectionRefusedError"
    r"|ConnectionResetError|BrokenPipeError|TimeoutError|PermissionError|OSError)\b"
)
"""What an executor lacks, or could not reach: no fault of what was read."""
_SIGNS = (
    re.compile(r"No module named '[\w.]+'"),
    re.compile(r"Cannot run program \"[^\"\n]+\"[^\n]*"),
    re.compile(r"PYTHON_VERSION_MISMATCH[^\n]*"),
    re.compile(r"ExecutorLostFailure \([^\n]*"),
    re.compile(r"Could not find or load main class [\w.]+"),
    re.compile(r"Initial job has not accepted any resources[^\n]*"),
    re.compile(r"All masters are unresponsive![^\n]*"),
)
"""What Spark itself says where its executors or their Python do not come up."""
_FOREIGN = ("py4j", "pyspark", "grpc")


def cause(failure: BaseException) -> str:
    """Say in one line why a job failed."""
    text = _text(failure)
    died, raised = DIED.search(text), _raised(text)
    if raised is not None:
        line = raised[1]
    elif died is not None:
        line = died[0]
    else:
        line = next((line for line in text.splitlines() if line.strip()), type(failure).__name__)
    return line.strip()[:300]


def platform(failure: BaseException) -> str | None:
    """Say what the platform lacks; None where the failure is not the platform's."""
    text = _text(failure)
    raised = _raised(text)
    if raised is not None:
        of_platform = _OF_PLATFORM.match(raised[1]) is not None
        return raised[1].strip()[:300] if of_platform else None
    signs = (sign.search(text) for sign in _SIGNS)
    return next((sign[0][:300] for sign in signs if sign is not None), None)


def is_death(failure: BaseException) -> bool:
    """Whether a worker ended without an answer, as far as Spark knows."""
    text = _text(failure)
    return DIED.search(text) is not None and platform(failure) is None


def is_of_the_task(failure: BaseException) -> bool:
    """Whether a task's own work raised this, or ended its worker."""
    if platform(failure) is not None:
        return False
    if is_death(failure):
        return True
    raised = _raised(_text(failure))
    if raised is not None:
        return not _OF_SPARK.search(raised[0])
    where = type(failure).__module__.partition(".")[0]
    return where not in _FOREIGN and not isinstance(failure, ImportError | OSError)


def _raised(text: str) -> tuple[str, str] | None:
    """Give the file in which a task's exception was raised, and the line that says which it is."""
    _, found, trace = text.rpartition(_TRACEBACK)
    if not found:
        return None
    trace = _IN_JAVA.split(trace, maxsplit=1)[0]
    frames = _FRAME.findall(trace)
    lines = (line for line in trace.splitlines() if line.strip())
    said = next((line for line in lines if not line.startswith((" ", "\t"))), None)
    return None if said is None else (frames[-1] if frames else "", said)


def _text(failure: BaseException) -> str:
    return f"{failure}\n{failure.__cause__ or ''}"
