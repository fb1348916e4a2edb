"""Rules over real trades and tracks, drawn from where the values are; and how they are written."""

import json
from collections.abc import Iterator, Sequence
from datetime import timedelta

import numpy as np
import pandas as pd  # type: ignore[import-untyped]

from tests.support.oracles.by_pandas import Rule

SECOND = 1_000_000
WITHINS = (None, 0, 2 * SECOND, 180 * SECOND)


def bands(trades: pd.DataFrame, per_stream: int, seed: int = 15) -> list[Rule]:
    """Bands of prices that each share was seen at, and a few rules for all of them by size."""
    rng = np.random.default_rng(seed)
    rules = []
    for stream, prices in trades.groupby("stream")["price"]:
        ends = np.sort(rng.choice(np.unique(prices), (per_stream, 2)), axis=1)
        for number, (lo, hi) in enumerate(ends.tolist()):
            within = WITHINS[number % len(WITHINS)]
            bounds = {"price": (lo, hi + 1.0)}
            rules.append(Rule(f"{stream}-{number}", bounds, (str(stream),), within))
    sizes = {"small": (0.0, 100.0), "round": (100.0, 101.0), "large": (10_000.0, np.inf)}
    rules += [Rule(name, {"size": ends}, None, SECOND) for name, ends in sizes.items()]
    return rules


def boxes(fixes: pd.DataFrame, many: int, seed: int = 15) -> list[Rule]:
    """Boxes of some hundred metres around fixes, for all streams."""
    rng = np.random.default_rng(seed)
    chosen = fixes.iloc[rng.choice(len(fixes), many)]
    widths = rng.uniform(0.0005, 0.02, (many, 2))
    rules = []
    for number, (lat, lng, (high, wide)) in enumerate(
        zip(chosen["lat"].tolist(), chosen["lng"].tolist(), widths.tolist(), strict=True)
    ):
        bounds = {"lat": (lat - high, lat + high), "lng": (lng - wide, lng + wide)}
        rules.append(Rule(f"box-{number}", bounds, None, WITHINS[number % len(WITHINS)]))
    return rules


def lines(rules: Sequence[Rule], feed: str) -> Iterator[str]:
    """Write rules as a user does."""
    for rule in rules:
        terms = [
            f"{axis} {op} {end!r}"
            for axis, ends in rule.bounds.items()
            for op, end in zip((">=", "<"), ends, strict=True)
            if np.isfinite(end)
        ]
        said: dict[str, object] = {"id": rule.id, "feed": feed, "where": " AND ".join(terms)}
        if rule.streams is not None:
            said["streams"] = list(rule.streams)
        if rule.within is not None:
            said["within"] = f"{timedelta(microseconds=rule.within).total_seconds():g}s"
        yield json.dumps(said) + "\n"
