"""Which instant does a clock on a wall show? Times without an offset, read in a zone.

A zone is a table of the local times at which its offset changes, made once from zoneinfo, which has
the IANA rules of the system or else of the package tzdata.

Law: an hour that the clock skips is no time; one that it repeats is the first. For every local time
this is what `datetime` with `zoneinfo` says.
"""

import difflib
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo, available_timezones

import numpy as np

from fencepost.arrays import Bools, Int64s
from fencepost.text import cut
from fencepost.times import DAY, EARLIEST, LATEST, SECOND

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_EPOCH_DAY = _EPOCH.toordinal()


@dataclass(frozen=True, eq=False)
class Zone:
    """The offsets of a zone by local time, for the years 1900 to 2200.

    build    0.05 s, once a process
    look-up  O(log c) of c changes, vectorised

    begins   int64[c], local µs: where a row of the table begins
    offsets  int64[c], µs to take from a local time
    skipped  whether no clock shows the times of this row
    """

    name: str
    begins: Int64s
    offsets: Int64s
    skipped: Bools

    def instants(self, local: Int64s) -> tuple[Int64s, Bools]:
        """Give the instants of local times, and mark those that are skipped."""
        row = np.searchsorted(self.begins, local, side="right") - 1
        return local - self.offsets[row], self.skipped[row]

    def instant(self, local: int) -> int:
        """Give the instant of one local time; ValueError where it is skipped."""
        us, skipped = self.instants(np.array([local]))
        if skipped[0]:
            raise ValueError(f"is skipped by the clocks of {self.name}")
        return int(us[0])


@lru_cache(maxsize=64)
def zone_named(name: str) -> Zone:
    """Make the table of a zone; ValueError where there is none of this name."""
    why = why_no_zone(name)
    if why is not None:
        raise ValueError(why)
    clock = ZoneInfo(name)
    begins, offsets, skipped = [-(2**63)], [_offset(clock, EARLIEST - DAY)], [False]
    for change, before, after in _changes(clock):
        if after > before:
            begins.append(change + before)
            offsets.append(before)
            skipped.append(True)
        begins.append(change + max(before, after))
        offsets.append(after)
        skipped.append(False)
    return Zone(name, np.array(begins), np.array(offsets), np.array(skipped))


def _changes(clock: ZoneInfo) -> Iterator[tuple[int, int, int]]:
    """Give the changes of a zone: when in UTC, the offset before, the offset after; all in µs.

    Each midnight is looked at: the IANA rules have no two changes within three days.
    """
    days = range(EARLIEST // DAY - 1, LATEST // DAY + 2)
    offsets = [clock.utcoffset(datetime.fromordinal(_EPOCH_DAY + day)) for day in days]
    for day, before, after in zip(days[1:], offsets, offsets[1:], strict=False):
        if before != after:
            was = _microseconds(before)
            low, high = ((day + away) * DAY // SECOND for away in (-2, 1))
            while high - low > 1:
                middle = (low + high) // 2
                is_before = _offset(clock, middle * SECOND) == was
                low, high = (middle, high) if is_before else (low, middle)
            yield high * SECOND, was, _microseconds(after)


def _offset(clock: ZoneInfo, us: int) -> int:
    return _microseconds((_EPOCH + timedelta(microseconds=us)).astimezone(clock).utcoffset())


def _microseconds(away: timedelta | None) -> int:
    return 0 if away is None else away // timedelta(microseconds=1)


def why_no_zone(name: str) -> str | None:
    """Say why a text names no zone; None where it does."""
    names = _names()
    if name in names:
        return None
    near = difflib.get_close_matches(name.casefold(), _names_folded(), n=1, cutoff=0.6)
    meant = f"  Did you mean '{_names_folded()[near[0]]}'?" if near else ""
    expected = "one like 'America/New_York' or 'UTC' was expected"
    return f"{cut(name)!r} is no IANA time zone: {expected}.{meant}"


@lru_cache(maxsize=1)
def _names() -> frozenset[str]:
    return frozenset(available_timezones())


@lru_cache(maxsize=1)
def _names_folded() -> dict[str, str]:
    """Give the names of all zones by what users write: in small letters, or the city alone."""
    names = sorted(_names())
    cities = {name.rpartition("/")[2].casefold(): name for name in names}
    return cities | {name.casefold(): name for name in names}
