"""The keys for S3 where people keep them: variables, else a profile of ~/.aws.

obstore takes variables and roles, but no profile; DuckDB is told. Law: what is read here goes to
a client and into no text, not even that of an error.
"""

import os
from collections.abc import Mapping
from configparser import ConfigParser
from configparser import Error as Unreadable
from pathlib import Path

from fencepost.errors import StorageError

REGION = "us-east-1"
"""Where none is named: services other than Amazon's want some region, and any will do."""

_ROLES = (
    "AWS_WEB_IDENTITY_TOKEN_FILE",
    "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
    "AWS_CONTAINER_CREDENTIALS_FULL_URI",
)


def s3_keys(said: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Give the key, its secret and perhaps a token, by obstore's names; none: there is a role."""
    names = {"access_key_id": "AWS_ACCESS_KEY_ID", "secret_access_key": "AWS_SECRET_ACCESS_KEY"}
    keys = {ours: said[theirs] for ours, theirs in names.items() if said.get(theirs)}
    if len(keys) == len(names):
        if said.get("AWS_SESSION_TOKEN"):
            keys["session_token"] = said["AWS_SESSION_TOKEN"]
        return keys
    if any(said.get(name) for name in _ROLES):
        return {}
    profile = _profile(said, "AWS_SHARED_CREDENTIALS_FILE", "credentials", "")
    keys = {name: profile.get(f"aws_{name}", "") for name in (*names, "session_token")}
    return {name: value for name, value in keys.items() if value} if keys["access_key_id"] else {}


def s3_region(said: Mapping[str, str] = os.environ) -> str:
    """Give the region: by variable, else by the profile."""
    named = said.get("AWS_REGION") or said.get("AWS_DEFAULT_REGION")
    return named or _profile(said, "AWS_CONFIG_FILE", "config", "profile ").get("region") or REGION


def _profile(said: Mapping[str, str], variable: str, name: str, prefix: str) -> dict[str, str]:
    home = Path(said.get("HOME") or Path.home())
    file = Path(said.get(variable) or home / ".aws" / name).expanduser()
    chosen = said.get("AWS_PROFILE") or "default"
    section = chosen if chosen == "default" else prefix + chosen
    parser = ConfigParser(interpolation=None)
    try:
        parser.read(file, encoding="utf-8")
        return dict(parser[section]) if parser.has_section(section) else {}
    except (OSError, UnicodeDecodeError, Unreadable):
        raise StorageError(f"{file} cannot be read: is it a file of AWS profiles?") from None
