"""The draft, put together: form, time, stream, roles, in this order, each with its questions.

Law: the same sample and the same hints give the same draft.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path, PurePath

from fencepost.errors import InputError
from fencepost.text import did_you_mean
from pipelines.files.guess.draft import Draft, FoundKey, Question
from pipelines.files.guess.grid import SampleGrid, grid_of
from pipelines.files.guess.hints import FeedHints
from pipelines.files.guess.roles import (
    Roles,
    WhyNot,
    axis_name,
    keys_of_roles,
    roles_of,
    wide_question,
)
from pipelines.files.guess.sample import Sampled
from pipelines.files.guess.streams import is_wide, keys_of_stream, stream_columns
from pipelines.files.guess.when import (
    RowTime,
    keys_of_time,
    open_of_date,
    open_of_time,
    row_times,
    time_forms,
)
from pipelines.files.read.content import Form

WIDE_AXIS = "value"
FORMS = {Form.CSV: "csv", Form.JSON: "json", Form.PARQUET: "parquet"}


def any_axis(_: str) -> str | None:
    """Let every name be one of an axis."""
    return None


def guess(
    samples: Sequence[Sampled],
    hints: FeedHints,
    why_no_axis: WhyNot = any_axis,
    *,
    is_delta: bool = False,
) -> Draft:
    """Find out how the feed of these files would be declared."""
    grid = grid_of(samples[0], hints)
    notes = tuple(_unlike(grid, samples, hints))
    paths = tuple(sample.path for sample in samples)
    below = tuple(sample.below for sample in samples)
    _refuse_unknown(grid, hints)
    forms = time_forms(grid, hints)
    times = row_times(grid, hints, forms)
    best = times[0] if times else None
    questions: list[Question] = list(open_of_time(grid, hints, times))
    keys: list[FoundKey] = []
    own: list[str] = []
    if best is not None:
        questions += open_of_date(hints, best, below)
        keys += keys_of_time(hints, best, below)
        own += best.columns
        parts = _of_stream(grid, hints, best, samples)
        keys += [part for part in parts if isinstance(part, FoundKey)]
        questions += [part for part in parts if isinstance(part, Question)]
        own += [str(part.value) for part in keys if part.name == "stream_column"]
    if hints.wide:
        axes = hints.axes or (WIDE_AXIS,)
        unused: dict[str, str] = {}
        keys.insert(0, FoundKey("axes", list(axes), "the value of every stream"))
    else:
        roles = roles_of(grid, hints, own, forms, why_no_axis, best.form.at if best else ())
        unused = dict(roles.unused)
        found = list(keys_of_roles(_named(roles, grid), hints))
        if not any(question.key == "wide" for question in questions):
            questions += [part for part in found if isinstance(part, Question)]
        keys = [*found_keys(found[:1]), *keys, *found_keys(found[1:])]
    keys = [*keys, *_keys_of_form(grid, hints, is_delta=is_delta)]
    return Draft(paths, grid, _form(samples[0], grid), tuple(keys), unused, tuple(questions), notes)


def found_keys(parts: Sequence[FoundKey | Question]) -> list[FoundKey]:
    """Keep the keys, without the questions."""
    return [part for part in parts if isinstance(part, FoundKey)]


def _of_stream(
    grid: SampleGrid, hints: FeedHints, best: RowTime, samples: Sequence[Sampled]
) -> list[FoundKey | Question]:
    found = stream_columns(grid, best)
    if hints.wide:
        return [FoundKey("wide", True, "every column beside the time is a stream")]
    is_open = hints.wide is None and hints.axes is None and not hints.names_streams
    if is_open and is_wide(grid, best, found):
        return [wide_question(grid, best.columns)]
    stem = stem_of(samples[0].path)
    return list(keys_of_stream(grid, hints, found, best, stem, alone=len(samples) == 1))


def stem_of(path: str) -> str:
    """Name a file without its endings; one in a zip by the zip."""
    pure = PurePath(path)
    zipped = next((part for part in pure.parents if part.suffix.lower() == ".zip"), None)
    name = (zipped or pure).name
    return name.split(".")[0] or name


def _named(roles: Roles, grid: SampleGrid) -> Roles:
    """Name axes as rules can write them; the columns are found by them all the same."""

    def of(name: str) -> str:
        return axis_name(name) if name in grid.names and grid.header else name

    axes = tuple(of(axis) for axis in roles.axes)
    place = roles.position
    return Roles(
        axes,
        None if place is None else (of(place[0]), of(place[1])),
        roles.sequence,
        roles.payload,
        roles.unused,
    )


def _keys_of_form(grid: SampleGrid, hints: FeedHints, *, is_delta: bool) -> Iterator[FoundKey]:
    if is_delta:
        yield FoundKey("format", "delta", "a Delta table: each of its versions is a delivery")
        return
    if hints.form is not None:
        yield FoundKey("format", FORMS[hints.form], "as you said")
    if grid.form is not Form.CSV:
        return
    if not grid.header:
        yield FoundKey("columns", list(grid.names), "the fields of a row, in order")
    if grid.skip_lines:
        yield FoundKey("skip_lines", grid.skip_lines, "what is no row")
    if hints.delimiter is not None:
        yield FoundKey("delimiter", hints.delimiter, "as you said")
    if grid.decimal != ".":
        yield FoundKey("decimal", grid.decimal, "as in 3,14")
    if grid.encoding != "utf-8":
        why = "as you said" if hints.encoding else "it has bytes that are not UTF-8"
        yield FoundKey("encoding", grid.encoding, why)


def _form(sample: Sampled, grid: SampleGrid) -> str:
    """Say what form the files have."""
    said = [grid.form.value]
    if sample.packed:
        said.append(f"packed with {sample.packed}")
    if grid.form is Form.CSV:
        mark = " with a byte order mark" if sample.marked else ""
        said.append(
            {"utf-8": "UTF-8", "latin-1": "Latin-1"}.get(grid.encoding, grid.encoding) + mark
        )
    return ", ".join([*said, *grid.why])


def _unlike(grid: SampleGrid, samples: Sequence[Sampled], hints: FeedHints) -> Iterator[str]:
    for sample in samples[1:]:
        if sample.form is not samples[0].form:
            raise InputError(
                f"{sample.path} is {sample.form}, and {samples[0].path} {samples[0].form}: "
                "the files of a feed have one form"
            )
        names = grid_of(sample, hints).names
        if {*names} != {*grid.names}:
            yield (
                f"the columns of {Path(sample.path).name} are {', '.join(names)}, others than "
                f"those of {Path(samples[0].path).name}"
            )


def _refuse_unknown(grid: SampleGrid, hints: FeedHints) -> None:
    """Refuse a column that is named by an option and not there."""
    options = {
        "--stream-column": (hints.stream_column,) if hints.stream_column else (),
        "--ts-column": hints.ts_column or (),
        "--axes": () if hints.wide else hints.axes or (),
        "--payload": hints.payload or (),
        "--sequence": (hints.sequence_column,) if hints.sequence_column else (),
    }
    there = {*grid.names, *map(axis_name, grid.names)}
    for option, names in options.items():
        for name in names:
            if name not in there:
                near = did_you_mean(name, grid.names)
                columns = ", ".join(grid.names)
                raise InputError(f"{option}: no column '{name}'; there are: {columns}.{near}")
