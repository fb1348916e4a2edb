"""Local times in every zone: the table says what `datetime` with `zoneinfo` does."""

import struct
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import TZPATH, ZoneInfo, available_timezones

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fencepost.times import DAY, EARLIEST, LATEST, SECOND
from fencepost.zones import why_no_zone, zone_named

ZONES = (
    *("America/New_York", "Europe/London", "Asia/Shanghai", "Asia/Kolkata", "UTC"),
    *("Australia/Lord_Howe", "Pacific/Apia", "America/Sao_Paulo", "Africa/Casablanca"),
    *("Africa/Monrovia", "Europe/Amsterdam", "America/St_Johns", "Antarctica/Troll", "EST5EDT"),
)
EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001  a local time


def by_datetime(local: int, zone: str) -> int | None:
    """The instant of a local time, by the standard library; None where the clocks skip it."""
    clock = ZoneInfo(zone)
    naive = EPOCH + timedelta(microseconds=local)
    aware = naive.replace(tzinfo=clock, fold=0)
    instant = aware.astimezone(UTC)
    if instant.astimezone(clock).replace(tzinfo=None) != naive:
        return None
    return (instant - EPOCH.replace(tzinfo=UTC)) // timedelta(microseconds=1)


def by_table(locals_: list[int], zone: str) -> list[int | None]:
    us, skipped = zone_named(zone).instants(np.array(locals_, np.int64))
    return [None if gone else at for at, gone in zip(us.tolist(), skipped.tolist(), strict=True)]


def edges(zone: str) -> list[int]:
    """The local times around each change of a zone."""
    begins = zone_named(zone).begins[1:].tolist()
    return [begin + off for begin in begins for off in (-SECOND, -1, 0, 1, SECOND)]


@pytest.mark.parametrize("zone", ZONES)
def test_oracle_the_table_equals_zoneinfo_at_every_change(zone):
    local = [at for at in edges(zone) if EARLIEST <= at < LATEST]
    assert by_table(local, zone) == [by_datetime(at, zone) for at in local]


@given(
    st.sampled_from(sorted(available_timezones())),
    st.lists(st.integers(EARLIEST + DAY, LATEST - DAY), min_size=1, max_size=20),
    st.data(),
)
@example("America/New_York", [1_383_444_000 * SECOND], None)
def test_oracle_the_table_equals_zoneinfo_at_any_local_time(zone, local, data):
    if data is not None and (near := edges(zone)):
        local += data.draw(st.lists(st.sampled_from(near), max_size=20))
        local = [at for at in local if EARLIEST <= at < LATEST]
    assert by_table(local, zone) == [by_datetime(at, zone) for at in local]


def changes_in_file(content: bytes) -> list[int]:
    """The instants at which the offset of a zone changes, as its file lists them (RFC 8536)."""
    heads = [content.index(b"TZif"), content.rindex(b"TZif")]
    counts = struct.unpack_from(">6L", content, heads[1] + 20)
    _, _, _, times, types, _ = counts
    at = heads[1] + 44
    instants = struct.unpack_from(f">{times}q", content, at)
    kinds = content[at + 8 * times : at + 9 * times]
    offsets = [struct.unpack_from(">l", content, at + 9 * times + 6 * k)[0] for k in range(types)]
    told = [offsets[kind] for kind in kinds]
    before = [None, *told][: len(told)]
    return [
        us
        for us, was, now in zip(instants, before, told, strict=True)
        if was is not None and was != now
    ]


@pytest.mark.parametrize("zone", ZONES)
def test_no_change_that_the_file_of_a_zone_lists_is_missed(zone):
    found = [Path(folder, zone) for folder in TZPATH if Path(folder, zone).is_file()]
    if not found:
        pytest.skip(f"the system has no file of {zone}: zoneinfo reads it from tzdata")
    listed = [
        at * SECOND
        for at in changes_in_file(found[0].read_bytes())
        if EARLIEST + DAY <= at * SECOND < LATEST
    ]
    zone_ = zone_named(zone)
    offsets = np.r_[zone_.offsets[0], zone_.offsets]
    known = {*(zone_.begins[1:] - offsets[1:-1]).tolist(), *(zone_.begins - zone_.offsets).tolist()}
    assert [at for at in listed if at not in known] == []


def test_what_is_no_zone_is_told_with_what_may_be_meant():
    assert why_no_zone("UTC") is None
    assert str(why_no_zone("new_york")).endswith("Did you mean 'America/New_York'?")
    assert str(why_no_zone("Europe/Berln")).endswith("Did you mean 'Europe/Berlin'?")
    assert str(why_no_zone("/etc/localtime")).startswith("'/etc/localtime' is no IANA time zone")
    with pytest.raises(ValueError, match="is no IANA time zone"):
        zone_named("nowhere")
    with pytest.raises(ValueError, match="is skipped by the clocks of Europe/Berlin"):
        zone_named("Europe/Berlin").instant(1_774_749_600 * SECOND)
