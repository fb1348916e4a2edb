"""A draft, held against its own sample: read as the feed's files will be, row by row.

Law: the reader that loads deliveries reads the sample, so a draft claims no row that a delivery
would lose.
"""

import io
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from fencepost.errors import Fault, Faults
from pipelines.files.guess.draft import Draft
from pipelines.files.guess.sample import Sampled
from pipelines.files.losses import MALFORMED, Loss, by_option, kinds, loss_of
from pipelines.files.read.content import Form
from pipelines.files.read.delivery import look_at, read
from pipelines.files.read.rows import STREAM_ID, TS, Declared

FORMS = {"csv": Form.CSV, "json": Form.JSON, "parquet": Form.PARQUET}


@dataclass(frozen=True)
class SampleCheck:
    """How many rows of a sample would be taken, and why others not; `faults` refuse whole files."""

    rows: int
    accepted: int
    losses: tuple[Loss, ...] = ()
    faults: tuple[Fault, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """Give the check as JSON."""
        return {
            "rows": self.rows,
            "accepted": self.accepted,
            "losses": [loss.as_json() for loss in self.losses],
            "faults": [str(fault) for fault in self.faults],
        }


def declared_of(draft: Draft) -> Declared:
    """Give what a draft declares about the feed's files."""
    values = draft.values
    ts = values.get("ts_column", TS)
    payload = values.get("payload", {})
    kinds = payload if isinstance(payload, dict) else dict.fromkeys(payload, "text")
    return Declared(
        axes=tuple(values["axes"]),
        ts_unit=values.get("ts_unit"),
        stream_id=values.get("stream_column", STREAM_ID),
        ts=ts if isinstance(ts, str) else (ts[0], ts[1]),
        form=FORMS.get(values.get("format", "")),
        timezone=values.get("timezone"),
        ts_format=values.get("ts_format"),
        date=values.get("date"),
        date_from_path=values.get("date_from_path"),
        columns=tuple(values.get("columns", ())),
        skip_lines=values.get("skip_lines", 0),
        delimiter=values.get("delimiter"),
        decimal=values.get("decimal", "."),
        encoding=values.get("encoding", "utf-8"),
        stream=values.get("stream"),
        stream_from_path=values.get("stream_from_path"),
        wide=values.get("wide", False),
        payload=tuple(kinds.items()),
        sequence=values.get("sequence_column"),
        sequence_is=values.get("sequence_is", "integer"),
        position=tuple(values.get("position", ())),
        position_in=values.get("position_in"),
    )


def checked(samples: Sequence[Sampled], draft: Draft) -> SampleCheck:
    """Read the samples as the draft says."""
    declared = declared_of(draft)
    rows = lost = 0
    losses: list[Loss] = []
    faults: list[Fault] = []
    for sample in samples:
        try:
            as_landed = replace(declared, path=sample.below)
            file = look_at(sample.path, as_landed, _content(sample))
            delivery = read(file, file.axes or declared.axes or (), as_landed)
        except Faults as refused:
            faults += refused.faults
            continue
        rows += delivery.rows
        bad = delivery.malformed
        lost += len(bad)
        if len(bad):
            reasons = pa.array([MALFORMED] * len(bad), pa.string())
            found = kinds(reasons, bad.detail, bad.raw)
            losses.append(loss_of(sample.path, delivery.rows, found, by_option()))
    return SampleCheck(rows, rows - lost, tuple(losses), tuple(faults))


def _content(sample: Sampled) -> bytes:
    """Give a sample as the bytes of a file."""
    if sample.table is None:
        return sample.head + sample.later
    from pyarrow import parquet as pq

    packed = io.BytesIO()
    pq.write_table(sample.table, packed)
    return packed.getvalue()
