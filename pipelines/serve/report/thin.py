"""Downsampling: what a screen cannot show is not sent.

Times go as whole parts of the range, values as whole parts of their span, each as the difference
from the one before: (measured) 7 bytes a point of a chart.

Law: a downsampled value is within one part of the original.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

PARTS = 1 << 16
"""The parts of a range of time, or of a map's side."""

FAR = 1 << 24
"""Points further off a map are drawn this many parts away."""

Int64s = npt.NDArray[np.int64]
Float64s = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Scale:
    """From the least to the greatest value, in this many parts."""

    low: float
    high: float
    parts: int = PARTS

    @classmethod
    def of(cls, values: Float64s, parts: int = PARTS) -> "Scale":
        """Make the scale of values; one value, or none, has a scale too."""
        if not len(values):
            return cls(0.0, 1.0, parts)
        low, high = float(values.min()), float(values.max())
        return cls(low, high, parts) if low < high else cls(low - 0.5, high + 0.5, parts)

    def placed(self, values: Float64s) -> Int64s:
        """Give the parts of values. In halves, since the range may be wider than a double."""
        width = self.high / 2 - self.low / 2
        share = (values / 2 - self.low / 2) / width if width else np.zeros_like(values)
        placed: Int64s = np.rint(np.clip(share * self.parts, -FAR, FAR)).astype(np.int64)
        return placed


def differences(values: Int64s) -> list[int]:
    """Give the first value, and then each one's difference from the one before."""
    steps: list[int] = np.diff(values, prepend=0).tolist()
    return steps


def without_rests(stream: Int64s, x: Int64s, y: Int64s) -> npt.NDArray[np.bool_]:
    """Mark the points of tracks to keep: of a rest in one place, the first and the last."""
    keep = np.ones(len(stream), np.bool_)
    same = (np.diff(stream) == 0) & (np.diff(x) == 0) & (np.diff(y) == 0)
    keep[1:-1] = ~(same[:-1] & same[1:])
    return keep


def main_part(values: Float64s) -> tuple[float, float]:
    """Give the range of nearly all values, if a few are far off; else that of all."""
    low, high = (float(end) for end in np.quantile(values, (0.002, 0.998)))
    least, most = float(values.min()), float(values.max())
    if most / 2 - least / 2 > 3 * (high / 2 - low / 2) > 0:
        return low, high
    return least, most


def short(value: float) -> float | int | None:
    """Round a number to seven digits; an open end is null."""
    if not np.isfinite(value):
        return None
    rounded = float(f"{value:.7g}")
    return int(rounded) if rounded.is_integer() and abs(rounded) < FAR else rounded


def columns(table: Any) -> dict[str, Any]:  # noqa: ANN401  Arrow has no type hints
    """Give the columns of an Arrow table as NumPy arrays; texts as lists."""
    named = zip(table.column_names, table.columns, strict=True)
    return {
        name: column.to_pylist() if pa.types.is_string(column.type) else column.to_numpy()
        for name, column in named
    }
