"""Files that are packed with zstd or in a zip: read like the plain ones, or refused in words."""

import gzip
import io
import zipfile

import pyarrow as pa
import pytest

from fencepost.errors import Faults
from tests.support.commands.files import faulty, taken, written, zipped

T = "2026-11-18T14:02:11Z"


def zstd(content: bytes) -> bytes:
    packed: bytes = pa.Codec("zstd").compress(content, asbytes=True)
    return packed


def as_zstd(content: bytes) -> bytes:
    """Pack as programs do: a stream, whose length its head does not say."""
    into = pa.BufferOutputStream()
    with pa.CompressedOutputStream(into, "zstd") as out:
        out.write(content)
    return bytes(into.getvalue())


CSV = f"stream_id,ts,price\na,{T},1\nb,{T},x\n"


@pytest.mark.parametrize("pack", [zstd, as_zstd])
def test_a_file_packed_with_zstd_is_the_plain_one(tmp_path, pack):
    found = taken(written(tmp_path, "day.csv.zst", pack(CSV.encode())), ("price",))
    assert (found.ids.to_pylist(), faulty(found)) == (
        ["a"],
        [(3, "price: 'x' is not a number")],
    )
    much = CSV.encode() + f"a,{T},1\n".encode() * 300_000
    path = written(tmp_path, "much", pack(much))
    assert len(taken(path, ("price",)).ts) == 300_001
    packed = pack(much)
    for length in (5, 9, len(packed) // 2, len(packed) - 1):
        broken = written(tmp_path, "cut", packed[:length])
        with pytest.raises(Faults, match=r"cut: is packed with zstd, but cut off or damaged"):
            taken(broken, ("price",))
    two = written(tmp_path, "two", pack(CSV.encode()) + packed)
    assert len(taken(two, ("price",)).ts) == 300_002


def test_the_files_in_a_zip_are_read_in_the_order_of_their_names(tmp_path):
    files = {
        "b/2.csv": f"stream_id;ts;price\nc;{T};3\nd;{T};x\n",
        "a/1.csv": CSV,
        "b/10.jsonl": f'{{"stream_id": "e", "ts": "{T}", "price": 4}}\n',
        "__MACOSX/._1.csv": "junk",
        ".DS_Store": "junk",
    }
    found = taken(written(tmp_path, "day.zip", zipped(files)), ("price",))
    assert found.ids.to_pylist() == ["a", "e", "c"]
    assert found.line.tolist() == [2, 4, 6]
    assert faulty(found) == [
        (3, "price: 'x' is not a number"),
        (7, "price: 'x' is not a number (line 3 of b/2.csv)"),
    ]


def test_what_a_path_does_not_say_is_a_fault_of_the_file(tmp_path):
    path = written(tmp_path, "day.zip", zipped({"SPY.csv": f"ts,price\n{T},1\n"}))
    found = taken(path, ("price",), stream_from_path=r"/(?P<stream>\w+)\.csv$")
    assert found.ids.to_pylist() == ["SPY"]
    with pytest.raises(Faults, match=r"its path says no stream: .* is not in it"):
        taken(path, ("price",), stream_from_path=r"(?P<stream>nowhere)")
    bad = written(tmp_path, "20130230.csv", "ts,price\n")
    with pytest.raises(Faults, match="its path says the date '20130230' is not a calendar"):
        taken(bad, ("price",), stream="a", date_from_path=r"(?P<date>[0-9]{8})", timezone="UTC")


def encrypted(content: bytes) -> bytes:
    """Mark all files of a zip as encrypted."""
    for mark, at in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        begin = content.index(mark)
        content = content[: begin + at] + b"\x01" + content[begin + at + 1 :]
    return content


def overlapping() -> bytes:
    """A zip whose directory names the same bytes many times."""
    into = io.BytesIO()
    with zipfile.ZipFile(into, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("0.csv", CSV * 1000)
        (first,) = archive.filelist
        for number in range(1, 50):
            again = zipfile.ZipInfo(f"{number}.csv")
            for name in ("CRC", "compress_size", "file_size", "header_offset", "compress_type"):
                setattr(again, name, getattr(first, name))
            archive.filelist.append(again)
            archive.NameToInfo[again.filename] = again
    return into.getvalue()


def bomb() -> bytes:
    """A zip with a gigabyte and a half of noughts."""
    into = io.BytesIO()
    with (
        zipfile.ZipFile(into, "w", zipfile.ZIP_DEFLATED) as archive,
        archive.open("0.csv", "w", force_zip64=True) as file,
    ):
        for _ in range(48):
            file.write(bytes(1 << 25))
    return into.getvalue()


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (zipped({}), "day.zip: is a zip without a file in it"),
        (zipped({"a.csv": CSV})[:-30], "day.zip: is a zip, but cut off or damaged: "),
        (encrypted(zipped({"a.csv": CSV})), "day.zip/a.csv: is encrypted: deliver it without a"),
        (overlapping(), "day.zip: is a zip whose files overlap, as those of a bomb do"),
    ],
)
def test_a_zip_that_cannot_be_read_is_refused_in_words(tmp_path, content, why):
    with pytest.raises(Faults) as refused:
        taken(written(tmp_path, "day.zip", content), ("price",))
    assert why in str(refused.value)


def test_a_zip_that_unpacks_to_what_no_data_does_is_refused(tmp_path):
    with pytest.raises(Faults, match=r"day.zip/0.csv: unpacks to 1.6 GB, more than 400 times"):
        taken(written(tmp_path, "day.zip", bomb()), ("price",))


def test_a_file_in_a_zip_that_is_packed_itself_is_refused(tmp_path):
    into = io.BytesIO()
    with zipfile.ZipFile(into, "w") as archive:
        archive.writestr("a.csv.gz", gzip.compress(CSV.encode()))
    with pytest.raises(Faults, match=r"day.zip/a.csv.gz: is packed itself"):
        taken(written(tmp_path, "day.zip", into.getvalue()), ("price",))
