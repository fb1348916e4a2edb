"""How other engines reach the same store: delta-rs by options, DuckDB by a secret.

What is given here may hold credentials: it goes to the engine, and into no text.
"""

import os
from urllib.parse import urlsplit

from pipelines.places.connection import endpoint
from pipelines.places.place import Place, is_remote

REGION = "us-east-1"
"""Where none is named: services other than Amazon's want some region, and any will do."""


def delta_options(place: Place) -> dict[str, str]:
    """Give the options with which delta-rs opens a table here; credentials it finds itself."""
    if not is_remote(place) or not place.base.startswith("s3://"):
        return {}
    options = {"AWS_REGION": _region()}
    address = endpoint()
    if address is not None:
        options["AWS_ENDPOINT_URL"] = address
        if address.startswith("http:"):
            options["AWS_ALLOW_HTTP"] = "true"
    return options


def duckdb_secret(place: Place, name: str = "fencepost_store") -> str | None:
    """Give the statement after which DuckDB can read here; None on a disk."""
    if not is_remote(place):
        return None
    kind = {"s3": "s3", "gs": "gcs"}.get(place.base.partition(":")[0], "azure")
    fields = {"TYPE": kind, "SCOPE": _quoted(place.base)}
    fields |= _of_s3() if kind == "s3" else {"PROVIDER": "credential_chain"}
    said = ", ".join(f"{key} {value}" for key, value in fields.items())
    return f"CREATE OR REPLACE SECRET {name} ({said})"


def _of_s3() -> dict[str, str]:
    fields = {"REGION": _quoted(_region())}
    key, secret = os.environ.get("AWS_ACCESS_KEY_ID"), os.environ.get("AWS_SECRET_ACCESS_KEY")
    if key and secret:
        fields |= {"KEY_ID": _quoted(key), "SECRET": _quoted(secret)}
        token = os.environ.get("AWS_SESSION_TOKEN")
        if token:
            fields["SESSION_TOKEN"] = _quoted(token)
    else:
        fields["PROVIDER"] = "credential_chain"
    address = endpoint()
    if address is not None:
        split = urlsplit(address)
        fields |= {"ENDPOINT": _quoted(split.netloc), "URL_STYLE": "'path'"}
        fields["USE_SSL"] = "true" if split.scheme == "https" else "false"
    return fields


def _region() -> str:
    return os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION") or REGION


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
