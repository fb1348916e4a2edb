"""Which standing rules did each moving value just enter or leave?

>>> import fencepost as fp
>>> rows = [{"stream_id": "AAPL", "ts": "2026-11-18T14:30:00Z", "price": 229.0},
...         {"stream_id": "AAPL", "ts": "2026-11-18T14:31:00Z", "price": 231.7}]
>>> result = fp.evaluate(rows, {"id": "breakout", "where": "price >= 231.5"})
>>> result.events.select(["type", "query_id", "stream_id", "price"]).to_pylist()
[{'type': 'I', 'query_id': 'breakout', 'stream_id': 'AAPL', 'price': 231.7}]

The names below are the API; they are imported when they are first used. The modules beneath are the
engine: NumPy, Numba and PyArrow; no clock, no environment, no files. ARCHITECTURE.md is the map.
"""

TYPE_CHECKING = False  # importing `typing` for it would take as long as the rest
if TYPE_CHECKING:
    from fencepost.api.monitor import Monitor, evaluate
    from fencepost.api.result import Result
    from fencepost.api.rules import Rules, rules
    from fencepost.errors import FencepostError
    from fencepost.lake import LakeReader, open_lake

__all__ = [
    "FencepostError",
    "LakeReader",
    "Monitor",
    "Result",
    "Rules",
    "evaluate",
    "open_lake",
    "rules",
]

_HOMES = {
    "FencepostError": "errors",
    "LakeReader": "lake",
    "Monitor": "api.monitor",
    "Result": "api.result",
    "Rules": "api.rules",
    "evaluate": "api.monitor",
    "open_lake": "lake",
    "rules": "api.rules",
}


def __getattr__(name: str) -> object:
    """Import a name of the API when it is first used."""
    if name not in _HOMES:
        raise AttributeError(f"module 'fencepost' has no attribute '{name}'")
    from importlib import import_module

    try:
        found = getattr(import_module(f"fencepost.{_HOMES[name]}"), name)
    except ModuleNotFoundError as fault:
        from fencepost.extras import missing_extra

        raise (missing_extra(fault) or fault) from None
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
