"""How other engines reach the same store: delta-rs by options, DuckDB by a secret.

What is given here may hold credentials: it goes to the engine, and into no text.
"""

from urllib.parse import urlsplit

from pipelines.places.connection import endpoint
from pipelines.places.credentials import s3_keys, s3_region
from pipelines.places.place import Place, is_remote


def delta_options(place: Place) -> dict[str, str]:
    """Give the options with which delta-rs opens a table here; credentials it finds itself."""
    if not is_remote(place) or not place.base.startswith("s3://"):
        return {}
    options = {"AWS_REGION": s3_region()}
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
    fields = {"REGION": _quoted(s3_region())}
    names = {
        "access_key_id": "KEY_ID",
        "secret_access_key": "SECRET",
        "session_token": "SESSION_TOKEN",
    }
    keys = s3_keys()
    fields |= {names[name]: _quoted(value) for name, value in keys.items()}
    if not keys:
        fields["PROVIDER"] = "credential_chain"
    address = endpoint()
    if address is not None:
        split = urlsplit(address)
        fields |= {"ENDPOINT": _quoted(split.netloc), "URL_STYLE": "'path'"}
        fields["USE_SSL"] = "true" if split.scheme == "https" else "false"
    return fields


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
