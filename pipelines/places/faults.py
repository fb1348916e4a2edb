"""What an object store refuses, in the errors and words of this project.

Law: FileNotFoundError and FileExistsError name the object; StoreUnavailable is a fault that may
pass, any other StorageError one that will not. No credential is in any text, so the client's own
error, which may quote a signed address, is never chained.
"""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager

from fencepost.errors import StorageError, StoreUnavailable
from fencepost.text import shortened

AGAIN = "then give the same command again: nothing is lost"
PASSING_STATUS = frozenset({408, 425, 429, 500, 502, 503, 504})
CONFLICT = 409
_DENIED = (401, 403)
_NO_BUCKET = ("NoSuchBucket", "ContainerNotFound")

_STATUS = re.compile(r"status code: (\d{3})")
_CODE = re.compile(r"<Code>([A-Za-z0-9_.-]+)</Code>")
_MESSAGE = re.compile(r"<Message>([^<]*)</Message>")
_PASSING = re.compile(
    r"HTTP error|error sending request|timed? ?out|timeout|connection|decoding response body|reset",
    re.IGNORECASE,
)
_QUERY = re.compile(r"\?[^\s'\"<>]*")
_SECRET = re.compile(r"KEY|SECRET|TOKEN|PASSWORD|CREDENTIAL|SAS", re.IGNORECASE)
_FAMILIES = ("AWS_", "AZURE_", "GOOGLE_")
_DEBUG = "\n\nDebug source"
_LEAST = 4


class Busy(Exception):
    """A conditional write was refused since another was under way: 409. Nothing was written."""


@contextmanager
def translated(place: str) -> Iterator[None]:
    """Raise what a store's client raises in here as this project does; `place` is the URI."""
    try:
        yield
    except (StorageError, Busy):
        raise
    except Exception as fault:
        found = error_of(fault, place)
        if found is None:
            raise
        raise found from None


def error_of(fault: BaseException, place: str) -> Exception | None:
    """Give the error that a client's error is; None if it is none of a store's."""
    from obstore import exceptions

    if not isinstance(fault, (FileNotFoundError, exceptions.BaseError)):
        return None
    text = str(fault).partition(_DEBUG)[0]
    status, code = _status(text), _code(text)
    found: Exception = StorageError(f"{place}: the store refuses ({_said(text)})")
    if code in _NO_BUCKET:
        found = StorageError(f"{place}: there is no such bucket, or it is in another region")
    elif isinstance(fault, FileNotFoundError):
        found = FileNotFoundError(f"there is no {place}")
    elif isinstance(fault, (exceptions.AlreadyExistsError, exceptions.PreconditionError)):
        busy = status == CONFLICT
        found = Busy(place) if busy else FileExistsError(f"{place} exists already, or changed")
    elif status in _DENIED or isinstance(fault, exceptions.UnauthenticatedError):
        found = StorageError(
            f"{place}: the store denies access ({_said(text)}): give these credentials access, or "
            f"set the store's own variables or roles, {AGAIN}"
        )
    elif status in PASSING_STATUS or (status is None and _PASSING.search(text)):
        found = StoreUnavailable(
            f"{place}: the store did not answer as it should, several times ({_said(text)}): look "
            f"at the network and at the store, {AGAIN}"
        )
    return found


def without_secrets(text: str) -> str:
    """Cut out of a text what signs an address, and every secret of the environment."""
    text = _QUERY.sub("", text)
    for name, value in os.environ.items():
        if name.startswith(_FAMILIES) and _SECRET.search(name) and len(value) >= _LEAST:
            text = text.replace(value, "…")
    return text


def _status(text: str) -> int | None:
    found = _STATUS.search(text)
    return None if found is None else int(found[1])


def _code(text: str) -> str | None:
    found = _CODE.search(text)
    return None if found is None else found[1]


def _said(text: str) -> str:
    """Give what the store said: its code and message, else the status, else the client's words."""
    status, code, message = _status(text), _code(text), _MESSAGE.search(text)
    if code is not None:
        said = code if message is None else f"{code}: {message[1]}"
    elif status is not None:
        said = f"HTTP {status}"
    else:
        said = text.strip().splitlines()[0].rpartition(" - ")[2] if text.strip() else "no words"
    return shortened(without_secrets(said), 200)
