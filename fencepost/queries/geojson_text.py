"""JSON values one after the other, out of bytes that are too many to be decoded at once.

Law: a value is the one that `json.loads` gives, whatever the window's size; a key occurs once in an
object. What is no JSON is a fault with its line. Memory: the bytes, a window, and one value.
"""

import codecs
import json

from fencepost.errors import QueryFault
from fencepost.queries.jsonl import once_each

WINDOW = 1 << 22
"""Bytes that are decoded at a time; more where one value is longer."""
BLANK = " \t\r\n\x1e"
"""What may stand between values; RFC 8142 puts a record separator before each."""
_OF_NUMBERS = "0123456789.eE+-"
_SHOWN = 40
"""Characters that are shown on either side of a fault."""

_DECODER = json.JSONDecoder(object_pairs_hook=once_each)


class JsonText:
    """A text of JSON, read forward once.

    fault_line  where the last fault was found
    """

    def __init__(self, content: bytes, window: int = WINDOW) -> None:
        """Begin with the first value."""
        self._content = memoryview(content)
        self._window = window
        self._decoded = 0
        self._decoder = codecs.getincrementaldecoder("utf-8")()
        self._text = ""
        self._at = 0
        self._line = 1
        self._last = 1
        self.fault_line = 1

    @property
    def line(self) -> int:
        """The line of the next value or sign."""
        self.peek()
        return self._line

    @property
    def ended_on(self) -> int:
        """The line of the last value or sign that was read."""
        return self._last

    def peek(self) -> str:
        """Give the next character that is not blank, and stay before it; '' at the end."""
        while True:
            text, at = self._text, self._at
            while at < len(text) and text[at] in BLANK:
                self._line += text[at] == "\n"
                at += 1
            self._at = at
            if at < len(text):
                return text[at]
            if not self._more():
                return ""

    def has(self, sign: str) -> bool:
        """Pass a sign, if it is the next one."""
        if self.peek() != sign:
            return False
        self._at += 1
        self._last = self._line
        return True

    def skip_line(self, line: int) -> None:
        """Go on behind the end of this line, unless a later one has begun."""
        while self._line == line:
            end = self._text.find("\n", self._at)
            self._line += end >= 0
            self._at = end + 1 if end >= 0 else len(self._text)
            if end < 0 and not self._more():
                return

    def expect(self, sign: str) -> None:
        """Pass a sign that must be the next one."""
        if not self.has(sign):
            raise self.fault(f"`{sign}` was expected")

    def value(self) -> object:
        """Read the next value."""
        self.peek()
        while True:
            try:
                value, end = _DECODER.raw_decode(self._text, self._at)
            except json.JSONDecodeError as why:
                if self._more():
                    continue
                raise self.fault(f"{why.msg[:1].lower()}{why.msg[1:]}", why.pos) from None
            except RecursionError:
                raise self.fault("lists and objects nest too deeply") from None
            except QueryFault as why:
                raise self.fault(why.message) from None
            except ValueError:
                raise self.fault("a number has more digits than can be read") from None
            if self._text[end : end + 1] not in _OF_NUMBERS or not self._more():
                break  # a number that ends where the window does may go on behind it
        self._line += self._text.count("\n", self._at, end)
        self._last = self._line
        self._at = end
        return value

    def fault(self, message: str, at: int | None = None) -> QueryFault:
        """Say what is wrong here, with some of the text on either side."""
        at = self._at if at is None else at
        self.fault_line = self._line + self._text.count("\n", self._at, at)
        begin = max(self._text.rfind("\n", 0, at) + 1, at - _SHOWN)
        end = self._text.find("\n", at)
        shown = self._text[begin : min(at + _SHOWN, end if end >= 0 else at + _SHOWN)]
        return QueryFault(f"not JSON: {message}", column=at - begin + 1, text=shown)

    def _more(self) -> bool:
        """Drop what is read and decode as much again as is left; False at the end."""
        if self._decoded == len(self._content):
            return False
        left = self._text[self._at :]
        end = min(self._decoded + max(self._window, len(left)), len(self._content))
        part = self._content[self._decoded : end]
        try:
            more = self._decoder.decode(part, final=end == len(self._content))
        except UnicodeDecodeError as why:
            byte = why.object[why.start]
            place = end - len(why.object) + why.start + 1
            self.fault_line = 1 + bytes(self._content[: place - 1]).count(b"\n")
            self._decoded = len(self._content)
            raise QueryFault(f"not UTF-8: 0x{byte:02X} is byte {place:,} of the file") from None
        self._text, self._at, self._decoded = left + more, 0, end
        return True
