"""Whatever a file holds: it is drafted, or refused in words, and a draft can be read."""

import tempfile
from pathlib import Path

from hypothesis import example, given
from hypothesis import strategies as st

from fencepost.errors import FencepostError
from pipelines.files.guess.check import checked
from pipelines.files.guess.guess import guess
from pipelines.files.guess.hints import FeedHints
from pipelines.files.guess.sample import files_of, sampled

CELLS = st.sampled_from(
    [
        *("", "1", "-2.5", "0", "007", "1e5", "1,5", "NaN", "a", "é", '"', '"x,y"', '"a""b"', " "),
        *("2026-01-02", "2026-01-02T10:00:00Z", "2026-01-02 10:00:00", "10:00:00", "01/02/2026"),
        *("1767348000", "1767348000000", "34200000", "20260102", "93000", "symbol", "time", "id"),
        *("{", "{}", '{"a": 1}', "true", "null", "AAPL", "lat", "lon", "price", "#", "\x00", "٣"),
    ]
)
TEXTS = st.builds(
    lambda rows, mark, end: end.join(mark.join(row) for row in rows),
    st.lists(st.lists(CELLS, max_size=6), max_size=12),
    st.sampled_from([",", ";", "\t", "|"]),
    st.sampled_from(["\n", "\r\n", "\n\n"]),
)
OBJECTS = st.builds(
    lambda rows: "\n".join("{" + ", ".join(row) + "}" for row in rows),
    st.lists(
        st.lists(
            st.builds(
                lambda key, value: f'"{key}": {value}',
                st.sampled_from(["ts", "device", "x", "T", "p"]),
                st.sampled_from(["1", "2.5", '"a"', "null", "true", "[1]", '{"b": 2}', "1e999"]),
            ),
            max_size=4,
        ),
        min_size=1,
        max_size=5,
    ),
)
YES = FeedHints(file_streams=True, timezone="UTC", date="2026-01-02")


@given(st.one_of(TEXTS.map(str.encode), OBJECTS.map(str.encode), st.binary(max_size=200)))
@example(b"ts,price\n1767348000,1\n1767348001,\xff\n")
@example(b"\xef\xbb\xbf")
@example(b'{"ts": 1}\n[')
def test_a_file_is_drafted_or_refused_in_words_and_a_draft_can_be_read(content: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "any.csv"
        path.write_bytes(content)
        for hints in (YES, FeedHints(wide=True), FeedHints()):
            try:
                samples = sampled(files_of([path]), hints.form)
                draft = guess(samples, hints)
            except FencepostError:
                continue
            again = guess(samples, hints)
            assert (draft.values, draft.questions) == (again.values, again.questions)
            if not draft.questions:
                check = checked(samples, draft)
                assert 0 <= check.accepted <= check.rows
