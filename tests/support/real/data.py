"""Real trades and tracks that were brought for these tests, and are not part of the repository.

They lie beside it, in `../shared/data`. Without them the tests that need them skip, and say so.
"""

import gzip
import os
import zipfile
from pathlib import Path

import pandas as pd  # type: ignore[import-untyped]
import pytest

from tests.support.commands.commands import REPOSITORY

DATA = Path(os.environ.get("FENCEPOST_SHARED", REPOSITORY.parent / "shared")) / "data"
LEAN = DATA / "lean"
TRACKS = DATA / "geolife" / "plt" / "tests" / "data" / "geolife_long_10_MB"
DISTRICTS = DATA / "geo" / "china" / "package" / "src" / "geojson" / "bei_jing_geo.json"
needs_real_data = pytest.mark.skipif(
    not DATA.is_dir(), reason="the real data is not here: it is expected in ../shared/data"
)
SYMBOLS = ("aig", "bac", "ibm", "spy")


def trade_file(symbol: str, day: str) -> Path:
    """The trades of a share on a day, as they were shipped."""
    return LEAN / f"{symbol}_{day}_trade.zip"


def trades(day: str = "20131007", symbols: tuple[str, ...] = SYMBOLS) -> pd.DataFrame:
    """Every trade of a day, in the order of the files: stream, ts (µs), price, size, file, row."""
    parts = []
    for number, symbol in enumerate(symbols):
        with zipfile.ZipFile(trade_file(symbol, day)) as packed:
            (name,) = packed.namelist()
            rows = pd.read_csv(packed.open(name), header=None, usecols=[0, 1, 2])
        midnight = pd.Timestamp(day).tz_localize("America/New_York").tz_convert("UTC")
        ts = midnight.value // 1000 + rows[0] * 1000
        columns = {"stream": symbol, "ts": ts, "price": rows[1] * 1.0, "size": rows[2] * 1.0}
        parts.append(pd.DataFrame({**columns, "file": number, "row": range(len(rows))}))
    return pd.concat(parts, ignore_index=True)


def tracks() -> pd.DataFrame:
    """Every fix of the uploads, in their order: stream, ts (µs), lat, lng, file, row."""
    parts = []
    for number, path in enumerate(sorted(TRACKS.glob("*/Trajectory/*.plt"))):
        rows = pd.read_csv(path, skiprows=6, header=None)
        ts = pd.to_datetime(rows[5] + " " + rows[6], utc=True).astype("int64") // 1000
        columns = {"stream": path.parts[-3], "ts": ts, "lat": rows[0], "lng": rows[1]}
        parts.append(pd.DataFrame({**columns, "file": number, "row": range(len(rows))}))
    return pd.concat(parts, ignore_index=True)


def sample() -> pd.DataFrame:
    """The larger tracks of two users: stream, ts (µs), lat, lng, row."""
    with gzip.open(DATA / "geolife" / "geolife_sample.txt.gz", "rt") as file:
        rows = pd.read_csv(file, dtype={"uid": str})
    ts = pd.to_datetime(rows["datetime"], utc=True).astype("int64") // 1000
    columns = {"stream": rows["uid"], "ts": ts, "lat": rows["lat"], "lng": rows["lng"]}
    return pd.DataFrame({**columns, "row": range(len(rows))})
