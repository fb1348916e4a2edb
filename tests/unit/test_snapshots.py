"""When a feed's whole state is written anew: often where all streams move, else seldom."""

from pathlib import Path

from pipelines.epochs.drive import chain_of
from pipelines.planning.plan import Limits
from tests.support.lakes.builder import evaluate, ingest, instant, land, new_lake, settings_of

T0 = 1_795_003_200_000_000
SECOND = 1_000_000
STREAMS, EVERY = 40, 3


def snapshots(folder: Path, moving: int, deliveries: int) -> list[int]:
    """Deliver every stream once, then these many of them again and again; list the snapshots."""
    limits = Limits(snapshot_every=EVERY)
    lake = new_lake(settings_of(folder, {"ticks": ("price",)}), limits=limits)
    for turn in range(deliveries):
        at = T0 + turn * SECOND
        lines = [f"s{k},{instant(at)},{turn}" for k in range(moving if turn else STREAMS)]
        content = "\n".join(("stream_id,ts,price", *lines, ""))
        land(lake.settings.feeds["ticks"], f"{turn}.csv", content, at)
        ingest(lake, at + 3600 * SECOND)
        evaluate(lake, "ticks")
    return [epoch.epoch for epoch in chain_of(lake.store, "ticks").epochs if epoch.snapshot]


def test_where_every_stream_moves_a_snapshot_comes_as_soon_as_it_may(tmp_path: Path) -> None:
    assert snapshots(tmp_path, STREAMS, 8) == [3, 6]


def test_where_few_streams_move_it_waits_until_half_as_much_was_written(tmp_path: Path) -> None:
    first, second = snapshots(tmp_path, 4, 11)
    assert first == EVERY
    whole, since = STREAMS + 4, 4 * (second - 1 - first)  # the epoch's own rows beside its snapshot
    assert 2 * since >= whole > 2 * (since - 4)
