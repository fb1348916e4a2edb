"""Files as exchanges, trackers and libraries ship them: what each one is, and how it is declared.

The real ones are not in the repository; each has a twin here, of the same name and shape, with data
made up. What is found in the one must be found in the other.
"""

import io
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from tests.support.commands.commands import REPOSITORY

REAL = REPOSITORY.parent / "shared" / "data" / "heads"
WHY_SKIPPED = "the real files are not here: ../shared/data/heads"
BEGIN = datetime(2026, 1, 26, 15, 57, 2, tzinfo=UTC)
ROWS = 40
UTC_ZONE = ("--timezone", "UTC")
NEW_YORK = ("--timezone", "America/New_York")


@dataclass(frozen=True)
class Head:
    """A file: its name, the options that say what it cannot, the keys found, and a made twin.

    rule   a `where` that some rows fulfil and some do not; of the real file, where it differs
    """

    name: str
    options: tuple[str, ...]
    keys: dict[str, Any]
    made: Callable[[], bytes]
    rule: str
    real_rule: str | None = None

    def written(self, folder: Path) -> Path:
        """Write the made twin."""
        path = folder / self.name
        path.write_bytes(self.made())
        return path


def _lines(header: str, row: Callable[[int], str], end: str = "\n", rows: int = ROWS) -> bytes:
    lines = [*header.splitlines(), *(row(i) for i in range(rows))]
    return (end.join(lines) + end).encode()


def _at(i: int, form: str = "%Y-%m-%d %H:%M:%S", step: int = 21) -> str:
    return (BEGIN + timedelta(seconds=step * i)).strftime(form)


def _wave(i: int, low: float, high: float) -> float:
    """A value that goes up and down, and never twice the same way."""
    return low + (high - low) * ((i * 7) % 19 + i / 100) / 20


def _bars(i: int) -> str:
    value = _wave(i, 100, 110)
    return f"{value:.2f},{value + 1:.2f},{value - 1:.2f},{value + 0.4:.2f}"


def _zipped(member: str, content: bytes) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr(member, content)
    return packed.getvalue()


def _trade(i: int) -> str:
    conditions = ("20002000", "2000", "1")[i % 3]
    size, side = (100, 283, 500, 7, 1400, 12, 900, 33, 48, 210)[i % 10], "PQ"[i % 2]
    return f"{14400464 + 311 * (i // 3)},{1674100 + i % 11 * 100},{size},{side},{conditions},0"


def _day(i: int) -> str:
    return _at(i, "%Y-%m-%d", 86_400)


HEADS = (
    Head(
        "GOOG.csv",
        UTC_ZONE,
        {
            "axes": ["open", "high", "low", "close", "volume"],
            "ts_column": "index",
            "timezone": "UTC",
            "stream": "GOOG",
        },
        lambda: _lines(
            ",Open,High,Low,Close,Volume", lambda i: f"{_day(i)},{_bars(i)},{9000 + 37 * i % 800}"
        ),
        "close >= 104",
    ),
    Head(
        "binance-trades.csv",
        (),
        {
            "axes": ["price", "amount", "cost"],
            "ts_column": "date",
            "stream": "binance-trades",
            "sequence_column": "id",
            "payload": ["side"],
        },
        lambda: _lines(
            ",timestamp,id,type,side,price,amount,cost,date",
            lambda i: (
                f"{i},{int(BEGIN.timestamp()) * 1000 + 250 * (i // 2)},{7206419 + i},,"
                f"{('buy', 'sell')[i % 2]},{_wave(i, 1666, 1667):.2f},0.{i + 1:03},{i + 1}.5,"
                f"{_at(i // 2, '%Y-%m-%d %H:%M:%S.138000+00:00')}"
            ),
        ),
        "price >= 1666.8",
    ),
    Head(
        "boat.csv",
        UTC_ZONE,
        {
            "axes": ["longitude", "latitude"],
            "ts_column": "ais_pos_timestamp",
            "ts_format": "%d/%m/%Y %H:%M",
            "timezone": "UTC",
            "stream_column": "ID",
            "position": ["longitude", "latitude"],
        },
        lambda: (
            b"\xef\xbb\xbf"
            + _lines(
                "ID,ais_pos_timestamp,longitude,latitude",
                lambda i: (
                    f"{1 + i // 30},{_at(i, '%d/%m/%Y %H:%M', 1800)},"
                    f"{_wave(i, 32.3, 32.6):.5f},{31.4 - i / 25:.5f}"
                ),
            )
        ),
        "latitude >= 30.5",
    ),
    Head(
        "bt-min.txt",
        ("--timezone", "Europe/Berlin"),
        {
            "axes": ["open", "high", "low", "close", "volume", "open_interest"],
            "ts_column": ["date", "time"],
            "timezone": "Europe/Berlin",
            "stream": "bt-min",
            "columns": [
                *("date", "time", "open", "high", "low", "close", "volume", "open_interest"),
            ],
            "skip_lines": 1,
        },
        lambda: _lines(
            "Date,Open,High,Low,Close,Volume,OpenInterest",
            lambda i: f"{_at(i, '%Y-%m-%d,%H:%M:00', 60)},{_bars(i)},{500 + 41 * i % 300},0",
            "\r\n",
        ),
        "close >= 104",
        "close >= 3600",
    ),
    Head(
        "btc-perp.csv",
        UTC_ZONE,
        {
            "axes": ["open", "high", "low", "close", "volume"],
            "ts_column": "timestamp",
            "timezone": "UTC",
            "stream": "btc-perp",
        },
        lambda: _lines(
            "timestamp,open,high,low,close,volume",
            lambda i: f"{_at(i, '%Y-%m-%d %H:%M:00.000000', 60)},{_bars(i)},{2300.25 + i % 7}",
        ),
        "close >= 104",
        "close >= 46415",
    ),
    Head(
        "bus.csv",
        ("--timezone", "Europe/London"),
        {
            "axes": ["latitude", "longitude"],
            "ts_column": "timestamp",
            "timezone": "Europe/London",
            "stream_column": "vehicle_id",
            "position": ["longitude", "latitude"],
            "sequence_column": "id",
            "payload": {
                "trip_id": "text",
                "bearing": "double",
                "origin": "text",
                "destination": "text",
                "route_name": "text",
                "direction": "text",
                "operator": "text",
            },
        },
        lambda: _lines(
            '"id","vehicle_id","trip_id","timestamp","latitude","longitude","bearing","origin",'
            '"destination","route_name","direction","operator"',
            lambda i: (
                f'{23811684 + 389 * i},"{4716 + i // 30}","{1091 + i // 15}","{_at(i)}",'
                f"{53.4 + i / 500:.6f},{-2.92 + i / 700:.6f},{'' if i % 5 == 0 else 9 * i},"
                f'Old_Station,New_Street,"14",outbound,ACME'
            ),
        ),
        "latitude >= 53.445",
    ),
    Head(
        "fxcm.csv",
        (),
        {"axes": ["open", "high", "low", "close"], "ts_column": "timestamp", "stream": "fxcm"},
        lambda: _lines(
            "timestamp,open,high,low,close",
            lambda i: f"{_at(i, '%Y-%m-%d %H:%M:00+00:00', 60)},{_bars(i)}",
        ),
        "close >= 104",
        "close >= 1.5756",
    ),
    Head(
        "geolife.csv",
        UTC_ZONE,
        {
            "axes": ["lat", "lng"],
            "ts_column": "datetime",
            "timezone": "UTC",
            "stream_column": "uid",
            "position": ["lng", "lat"],
        },
        lambda: _lines(
            "lat,lng,datetime,uid",
            lambda i: (
                f"{39.98 + i / 9000:.6f},{_wave(i, 116.3, 116.4):.6f},{_at(i)},00{1 + i // 25}"
            ),
        ),
        "lat >= 39.9815",
        "lat >= 39.9847",
    ),
    Head(
        "ibm.zip",
        NEW_YORK,
        {
            "axes": ["c2", "c3"],
            "ts_column": "c1",
            "ts_unit": "ms",
            "timezone": "America/New_York",
            "date_from_path": r"(?P<date>\d{8})",
            "stream": "ibm",
            "payload": ["c4", "c5", "c6"],
            "columns": ["c1", "c2", "c3", "c4", "c5", "c6"],
        },
        lambda: _zipped("20131007_ibm_Trade_Tick.csv", _lines("", _trade)),
        "c3 >= 200",
    ),
    Head(
        "kraken.csv",
        (),
        {
            "axes": ["c2", "c3"],
            "ts_column": "c1",
            "ts_unit": "s",
            "stream": "kraken",
            "columns": ["c1", "c2", "c3"],
        },
        lambda: _lines(
            "", lambda i: f"{1672531436 + 90 * (i // 2)},{_wave(i, 90, 91):.6f},{i % 6}.{i + 1:08}"
        ),
        "c2 >= 90.2",
    ),
    Head(
        "mpd.csv",
        (),
        {
            "axes": ["x", "y"],
            "ts_column": "t",
            "stream_column": "tracker",
            "position": ["x", "y"],
            "position_in": "degrees",
            "payload": ["trajectory_id"],
        },
        lambda: _lines(
            "X;Y;fid;id;sequence;trajectory_id;tracker;t",
            lambda i: (
                f"{_wave(i, 116.39, 116.4):.6f};{39.898 + i / 3000:.6f};{i + 1};{i + 1};{i + 1};1;"
                f"19;{_at(i, '%Y-%m-%d %H:%M:%S+00')}"
            ),
        ),
        "y >= 39.8985",
    ),
    Head(
        "spy-raw.csv",
        (*NEW_YORK, "--date", "2013-10-07"),
        {
            "axes": ["c2", "c3"],
            "ts_column": "c1",
            "ts_unit": "ms",
            "timezone": "America/New_York",
            "date": "2013-10-07",
            "stream": "spy-raw",
            "payload": ["c4", "c5", "c6"],
            "columns": ["c1", "c2", "c3", "c4", "c5", "c6"],
        },
        lambda: _lines("", _trade),
        "c3 >= 200",
    ),
    Head(
        "track.plt",
        (*UTC_ZONE, "--stream", "000"),
        {
            "axes": ["c1", "c2", "c4"],
            "ts_column": ["c6", "c7"],
            "timezone": "UTC",
            "stream": "000",
            "payload": ["c3", "c5"],
            "columns": ["c1", "c2", "c3", "c4", "c5", "c6", "c7"],
            "skip_lines": 6,
        },
        lambda: _lines(
            "A track\nWGS 84\nAltitude is in Feet\nReserved 3\n0,2,255,A Track,0,0,2,8421376\n0",
            lambda i: (
                f"{39.98 + i / 9000 + i % 2 / 10000:.6f},{_wave(i, 116.2, 116.4):.6f},0,"
                f"{492 + i % 13},"
                f"{39744.12 + i / 17280:.10f},{_at(i, '%Y-%m-%d,%H:%M:%S', 5)}"
            ),
            "\r\n",
        ),
        "c1 >= 39.9835",
    ),
    Head(
        "truefx.csv",
        (),
        {"axes": ["bid", "ask"], "ts_column": "timestamp", "stream": "truefx"},
        lambda: _lines(
            "timestamp,bid,ask",
            lambda i: (
                f"{_at(i, '%Y-%m-%d %H:%M:%S.295000+00:00')},{_wave(i, 86.6, 86.7):.3f},"
                f"{_wave(i, 86.72, 86.8):.3f}"
            ),
        ),
        "bid >= 86.66",
    ),
    Head(
        "wide.csv",
        ("--wide",),
        {"axes": ["value"], "ts_column": "ts", "wide": True},
        lambda: _lines(
            "ts,AAPL,GOOG", lambda i: f"{_at(i, '%Y-%m-%dT%H:%M:%SZ')},{1 + i % 3}.0,{3 + i % 2}.0"
        ),
        "value >= 2",
    ),
)
