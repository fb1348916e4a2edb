"""POLYGON and MULTIPOLYGON of WKT, as the coordinates of GeoJSON.

Law: a text that is read has one meaning; what else it holds is refused with its column, from 1.
Reading is linear in the text, and nothing nests deeper than a MULTIPOLYGON.
"""

import re

from fencepost.doubles import NUMBER, parse_number
from fencepost.errors import QueryFault
from fencepost.text import shortened

_TOKEN = re.compile(rf"\s*({NUMBER.pattern}(?![\w.])|[A-Za-z_]+|\S)")
_SRID = re.compile(r"\s*SRID\s*=\s*([0-9]+)\s*;", re.IGNORECASE)
_DEPTH = {"POLYGON": 2, "MULTIPOLYGON": 3}
_NAMES = {"POLYGON": "Polygon", "MULTIPOLYGON": "MultiPolygon"}
_DIMENSIONS = {"Z": 3, "M": 3, "ZM": 4}


def read_wkt(text: str) -> dict[str, object]:
    """Read a polygon, or several, into the object that GeoJSON has for them."""
    srid = _SRID.match(text)
    if srid is not None and srid[1] != "4326":
        raise QueryFault(
            f"the SRID is {shortened(srid[1])}: 4326 was expected, degrees of WGS 84",
            column=srid.start(1) + 1,
            text=text,
        )
    return _WellKnownText(text, srid.end() if srid is not None else 0).whole()


class _WellKnownText:
    """One reading: the tokens with their places."""

    def __init__(self, text: str, begin: int) -> None:
        """Cut the text into tokens."""
        self.text = text
        self.tokens = [(m[1], m.start(1)) for m in _TOKEN.finditer(text, begin)]
        self.tokens.append(("", len(text)))
        self.at = 0

    def whole(self) -> dict[str, object]:
        name = self.tokens[0][0].upper()
        if name not in _DEPTH:
            raise self.fault("POLYGON or MULTIPOLYGON", "WKT begins with what it is")
        self.at = 1
        dimensions = 2
        if self.tokens[1][0].upper() in _DIMENSIONS:
            dimensions = _DIMENSIONS[self.tokens[1][0].upper()]
            self.at = 2
        if self.tokens[self.at][0].upper() == "EMPTY":
            raise self.fault("a ring", "an empty shape holds nothing")
        coordinates = self.nested(_DEPTH[name], dimensions)
        if self.tokens[self.at][0]:
            raise self.fault("the end of the text")
        return {"type": _NAMES[name], "coordinates": coordinates}

    def nested(self, depth: int, dimensions: int) -> list[object]:
        """Read a bracketed list of lists, so many deep, of positions."""
        self.expect("(")
        members: list[object] = []
        while True:
            if depth > 1:
                members.append(self.nested(depth - 1, dimensions))
            else:
                members.append(self.position(dimensions))
            if self.tokens[self.at][0] != ",":
                break
            self.at += 1
        self.expect(")")
        return members

    def position(self, dimensions: int) -> list[float]:
        """Read two numbers, and pass over an altitude or a measure."""
        numbers: list[float] = []
        while self.tokens[self.at][0] not in (",", ")", "") and len(numbers) <= dimensions:
            token, _ = self.tokens[self.at]
            try:
                numbers.append(parse_number(token))
            except ValueError as why:
                raise self.fault(f"a number ({why})") from None
            self.at += 1
        if not (len(numbers) == dimensions or (dimensions == 2 and len(numbers) == 3)):
            raise self.fault("two numbers and a comma or a bracket")
        return numbers[:2]

    def expect(self, token: str) -> None:
        if self.tokens[self.at][0] != token:
            raise self.fault(f"`{token}`")
        self.at += 1

    def fault(self, expected: str, hint: str | None = None) -> QueryFault:
        token, place = self.tokens[self.at]
        given = f"'{shortened(token)}'" if token else "the end of the text"
        return QueryFault(
            f"expected {expected}, found {given}",
            column=place + 1,
            text=self.text,
            width=max(1, len(token)),
            hint=hint,
        )
