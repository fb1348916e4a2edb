"""Standing queries from JSON lines: one object a line, blank lines passed over.

Law: the lines are accepted whole or not at all; every bad line is reported with its number and
place. JSON is strict: UTF-8, no key twice, no NaN, no Infinity. An id occurs once, whatever the
feed.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import NoReturn

from fencepost.errors import Fault, Faults, QueryFault
from fencepost.position import NOWHERE, Positions
from fencepost.queries.fields import InexactNumber
from fencepost.queries.query import Query, check_query
from fencepost.text import shortened

_BOM = b"\xef\xbb\xbf"


def read_queries_jsonl(
    lines: Iterable[bytes],
    source: str,
    axes_of: Mapping[str, Sequence[str]],
    positions: Positions = NOWHERE,
    *,
    feeds_may_be_absent: bool = False,
) -> list[Query]:
    """Read all queries of the lines, or raise Faults that lists every fault of every line.

    `source` names the lines in the faults; `axes_of`, `positions` and `feeds_may_be_absent`
    are those of check_query.
    """
    queries: list[Query] = []
    faults: list[Fault] = []
    line_of: dict[str, int] = {}
    for number, line in enumerate(lines, 1):
        raw = line.removeprefix(_BOM) if number == 1 else line
        if not raw.strip():
            continue
        try:
            obj = json_object(raw)
        except QueryFault as fault:
            faults.append(Fault.of(source, number, fault))
            continue
        query, found = check_query(obj, axes_of, positions, feeds_may_be_absent=feeds_may_be_absent)
        found += _repeated(obj, number, line_of)
        faults += [Fault.of(source, number, fault) for fault in found]
        if query is not None:
            queries.append(query)
    if faults:
        raise Faults(faults, "nothing imported")
    return queries


def _repeated(obj: object, number: int, line_of: dict[str, int]) -> list[QueryFault]:
    """Report an id that occurred before; remember one that did not."""
    query_id = obj.get("id") if isinstance(obj, dict) else None
    if not isinstance(query_id, str):
        return []
    first = line_of.setdefault(query_id, number)
    if first == number:
        return []
    where = f"in lines {first} and {number}"
    return [QueryFault(f"the id '{shortened(query_id)}' occurs twice: {where}")]


def json_object(line: bytes) -> object:
    """Read one line as strict JSON; QueryFault says what is wrong and where."""
    raw = line.rstrip(b"\r\n")
    try:
        text = raw.decode()
    except UnicodeDecodeError as why:
        before = raw[: why.start].decode()
        raise QueryFault(
            f"not UTF-8: byte 0x{raw[why.start]:02X} at column {len(before) + 1}",
            column=len(before) + 1,
            text=raw.decode(errors="replace"),
        ) from None
    try:
        return _STRICT.decode(text)
    except json.JSONDecodeError as why:
        message = f"not JSON: {why.msg[:1].lower()}{why.msg[1:]} at column {why.pos + 1}"
        raise QueryFault(message, column=why.pos + 1, text=text) from None
    except RecursionError:
        raise QueryFault("not a query: lists and objects nest too deeply") from None
    except ValueError:
        raise QueryFault("not a query: a number has more digits than can be read") from None


def _refuse_constant(name: str) -> NoReturn:
    raise QueryFault(f"not JSON: `{name}` is no number of JSON")


def once_each(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """Return the pairs as an object; no key may be repeated."""
    fields = dict(pairs)
    if len(fields) < len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise QueryFault(f"the key `{shortened(key)}` occurs twice in one object")
            seen.add(key)
    return fields


_STRICT = json.JSONDecoder(
    object_pairs_hook=once_each,
    parse_constant=_refuse_constant,
    parse_float=InexactNumber.or_double,
)
