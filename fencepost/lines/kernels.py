"""Compiled reading of lines that a pattern describes: O(bytes).

A line is literals and cells in turn. A cell ends before the first byte of the next literal, and
holds no quotation mark, no control character and not its `never`. Whatever is not exactly so is no
line of the pattern, and is left to who called.

Law: a cell is accepted only as what the slow readers of cells read it as, to the bit. Behind the
text there are `BEHIND` bytes, which may be read and change nothing.
"""

import numpy as np
from numba import njit

from fencepost.lines.number_kernels import NOTHING, number
from fencepost.lines.word_kernels import (
    NONE,
    control_marks,
    digits_in,
    first_digits,
    marks_of,
    place_of,
)
from fencepost.times import DAY, EARLIEST, LATEST, SECOND

SKIPPED, STREAM, STREAM_NUMBER, TEXT, INSTANT, INTEGER, NUMBER, PLAIN = range(8)
"""What a cell is. STREAM_NUMBER: a stream whose name is an integer without quotation marks. PLAIN:
a value of JSON that is no text, and that nobody wants."""

BEHIND = 64

LF, QUOTE, PLUS, MINUS, POINT, ZERO, NINE, COLON = b'\n"+-.09:'
BLANK, T, Z, DELETE = b" TZ\x7f"
WORDS, WORD_ENDS = np.frombuffer(b"truefalsenull", np.uint8), (0, 4, 9, 13)
MOST_DIGITS = 18
DAYS_BEFORE = np.array([0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334])
DAYS_OF = np.array([31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31])
UNIX_DAY = 719_162
"""Days from the first of the year 1 to 1970."""
SECONDS, DAY_LONG, FIRST, BEYOND = SECOND, DAY, EARLIEST, LATEST
POWERS = np.array([10**k for k in range(9)])

CLOCK, COLONS = np.uint64(0x30303A30303A3030), np.uint64(0x0000FF0000FF0000)
TO_HIGH, HIGHS = np.uint64(0x7676767676767676), np.uint64(0x8080808080808080)
BYTE = np.uint64(0xFF)
ODD, OTHER_ODD, SHIFT = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB), np.uint64(32)
FULL = np.uint64(0xFFFFFFFFFFFFFFFF)


@njit(cache=True, nogil=True, error_model="numpy", _nrt=False)
def read_lines(
    text,
    words,
    stop,
    literals,
    ends,
    kinds,
    nevers,
    slots,
    decimal,
    is_json,
    break_size,
    longest,
    known,
    table,
    heads,
    names,
    kept,
    lines,
    begins,
    beyonds,
    codes,
    spans,
    hashes,
    counts,
    numbers,
    texts,
    hard,
    others,
):
    """Read `text[:stop]`; give how many lines fit, others, names, and hard numbers.

    words           the eight bytes from each byte on
    literals, ends  the literals in a row, and where each ends; a cell between any two
    kinds, nevers   of each cell: what it is, and a byte that it does not hold
    slots           in which row of its kind's result it goes
    break_size      bytes of the last literal that are the line break
    longest         bytes of a line that fits, at most
    known           so many names of streams are known before, and stay
    table, heads    the names by hash; `table` is -1 where there is none, its size a power of two
    names, kept     where each name begins in `kept`, where the last ends, and their bytes
    lines, begins, beyonds  of each that fits: its number from 0, where it begins and ends
    codes, counts, numbers, texts  its cells: stream; instants and integers; numbers; begin and end
    spans           where the names begin and end of the lines that are not coded yet
    hard            numbers to be read otherwise: row, slot, begin, end
    others          of each that does not fit: number, begin, end
    """
    cells = len(kinds)
    fit = other = many = coded = 0
    at = line = 0
    day = (np.uint64(0), np.uint8(0), np.uint8(0), np.int64(0))
    while at < stop:
        begin, hard_before = at, many
        stream_begin = stream_end = 0
        fits = True
        literal = 0
        for cell in range(cells + 1):
            beyond = ends[cell]
            while literal < beyond and text[at] == literals[literal]:
                at += 1
                literal += 1
            fits = literal == beyond
            if not fits or cell == cells:
                break
            until = literals[beyond]
            kind, slot, cell_begin = kinds[cell], slots[cell], at
            if kind == NUMBER:
                at, value = number(text, words, at, decimal, is_json)
                if at < NOTHING:
                    at = -at
                    hard[many, 0], hard[many, 1] = fit, slot
                    hard[many, 2], hard[many, 3] = cell_begin, at
                    many += 1
                numbers[slot, fit] = value
            elif kind == INSTANT:
                at, counts[slot, fit], day = _instant(text, words, at, day)
            elif kind == INTEGER:
                at, counts[slot, fit] = _integer(text, at)
            elif kind == PLAIN:
                at = _plain(text, words, at)
            elif kind == STREAM_NUMBER:
                at, _ = _integer(text, at)
                stream_begin, stream_end = cell_begin, at
            else:
                at = _past(text, words, at, until, nevers[cell])
                if kind == STREAM:
                    stream_begin, stream_end = cell_begin, at
                    fits = at > cell_begin
                elif kind == TEXT and at >= 0:
                    texts[slot, 0, fit], texts[slot, 1, fit] = cell_begin, at
            fits = fits and at >= 0 and text[at] == until
            if not fits:
                break
        fits = fits and at <= stop and at - begin <= longest
        if fits:
            # A name costs three misses of the cache one after the other, 40 ns of 110. Where some
            # names are looked up in a row the misses of several overlap: 10 ns.
            spans[fit - coded, 0], spans[fit - coded, 1] = stream_begin, stream_end
            lines[fit], begins[fit], beyonds[fit] = line, begin, at - break_size
            fit += 1
            if fit - coded == len(spans):
                known = _code(
                    text, words, spans, hashes, table, heads, names, kept, known, codes[coded:fit]
                )
                coded = fit
        else:
            many = hard_before
            at = begin
            while at < stop and text[at] != LF:
                at += 1
            at = min(at + 1, stop)
            others[other, 0], others[other, 1], others[other, 2] = line, begin, at
            other += 1
        line += 1
    known = _code(text, words, spans, hashes, table, heads, names, kept, known, codes[coded:fit])
    return fit, other, known, many


@njit(_nrt=False)
def _code(text, words, spans, slots, table, heads, names, kept, known, codes):
    """Code the names of some lines, if they have any; say how many names there are."""
    mask = np.uint64(len(table) - 1)
    for row in range(len(codes)):
        slots[row] = _mixed(words, spans[row, 0], spans[row, 1]) & mask
    for row in range(len(codes)):
        codes[row] = table[slots[row]]
    for row in range(len(codes)):
        begin, end = spans[row, 0], spans[row, 1]
        if end > begin and not _is_name(text, words, begin, end, heads, names, kept, codes[row]):
            codes[row], known = _coded(
                text, words, begin, end, slots[row], table, heads, names, kept, known
            )
    return known


@njit(forceinline=True, _nrt=False)
def _past(text, words, at, until, never):
    """Go to the end of a text cell; NOTHING where it holds what a plain one does not."""
    marks = _ends(words[at], until, never)
    while marks == NONE:
        at += 8
        marks = _ends(words[at], until, never)
    at += place_of(marks)
    return at if text[at] == until else NOTHING


@njit(forceinline=True, _nrt=False)
def _ends(word, until, never):
    """Mark where a text cell ends, well or not."""
    marks = marks_of(word, until) | marks_of(word, never) | marks_of(word, QUOTE)
    return marks | marks_of(word, DELETE) | control_marks(word)


@njit(forceinline=True, _nrt=False)
def _integer(text, at):
    """Read an integer as it would be written again: no zero before it, and none with a sign."""
    negative = text[at] == MINUS
    at += negative
    begin, value = at, np.int64(0)
    while ZERO <= text[at] <= NINE and at - begin < MOST_DIGITS:
        value = value * 10 + np.int64(text[at] - ZERO)
        at += 1
    if at == begin or (text[begin] == ZERO and (negative or at > begin + 1)):
        return NOTHING, np.int64(0)
    return at, -value if negative else value


@njit(forceinline=True, _nrt=False)
def _plain(text, words, at):
    """Go past a bare value of JSON: a number, or one of its three words."""
    for word in range(3):
        begin, size = WORD_ENDS[word], WORD_ENDS[word + 1] - WORD_ENDS[word]
        if _same(text, at, at + size, WORDS, begin):
            return at + size
    end, _ = number(text, words, at, POINT, True)
    return -end if end < NOTHING else end


@njit(forceinline=True, _nrt=False)
def _two(text, at):
    """Read two digits; a negative number where there are none."""
    tens, ones = np.int64(text[at]) - ZERO, np.int64(text[at + 1]) - ZERO
    return tens * 10 + ones if 0 <= tens <= 9 and 0 <= ones <= 9 else np.int64(-10_000)


@njit(forceinline=True, _nrt=False)
def _day(text, at):
    """Read a date, in days since 1970; a very negative one where there is none."""
    none = np.int64(-1_000_000)
    if text[at + 4] != MINUS or text[at + 7] != MINUS:
        return none
    century, rest, month, day = (
        _two(text, at),
        _two(text, at + 2),
        _two(text, at + 5),
        _two(text, at + 8),
    )
    year = century * 100 + rest
    if century < 0 or rest < 0 or year < 1 or not 1 <= month <= 12:
        return none
    leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    if not 1 <= day <= DAYS_OF[month - 1] + (leap and month == 2):
        return none
    before = year - 1
    days = before * 365 + before // 4 - before // 100 + before // 400
    return days + DAYS_BEFORE[month - 1] + (leap and month > 2) + day - 1 - UNIX_DAY


@njit(forceinline=True, _nrt=False)
def _instant(text, words, at, day):
    """Read an instant of ISO 8601 with seconds and an offset, in µs.

    `day` is the last date that was read: its first eight bytes, two more, and its days since 1970.
    """
    head, tens, ones, days = day
    if words[at] != head or text[at + 8] != tens or text[at + 9] != ones:
        head, tens, ones, days = words[at], text[at + 8], text[at + 9], _day(text, at)
    day = head, tens, ones, days
    clock = words[at + 11] ^ CLOCK
    wrong = (((clock + TO_HIGH) | clock) & HIGHS) | (clock & COLONS)
    if wrong != NONE or (text[at + 10] != T and text[at + 10] != BLANK):
        return NOTHING, np.int64(0), day
    hour, minute, second = _pair(clock, 0), _pair(clock, 24), _pair(clock, 48)
    if hour > 23 or minute > 59 or second > 59:
        return NOTHING, np.int64(0), day
    us = days * DAY_LONG + (hour * 3600 + minute * 60 + second) * SECONDS
    at += 19
    if text[at] == POINT:
        at += 1
        digits = digits_in(words[at])
        if digits == 0:
            return NOTHING, np.int64(0), day
        shown = min(digits, 6)
        us += first_digits(words[at], shown) * POWERS[6 - shown]
        at += digits
        while digits == 8:
            digits = digits_in(words[at])
            at += digits
    if text[at] == Z:
        at += 1
    else:
        at, offset = _offset(text, at)
        us -= offset
    return (at if FIRST <= us < BEYOND else NOTHING), us, day


@njit(forceinline=True, _nrt=False)
def _pair(clock, bits):
    """Give two digits, beginning at some bit, as a number."""
    tens, ones = (clock >> np.uint64(bits)) & BYTE, (clock >> np.uint64(bits + 8)) & BYTE
    return np.int64(tens) * 10 + np.int64(ones)


@njit(forceinline=True, _nrt=False)
def _offset(text, at):
    """Read an offset like +01:00; where it ends, and in µs."""
    if (text[at] != PLUS and text[at] != MINUS) or text[at + 3] != COLON:
        return NOTHING, np.int64(0)
    hours, minutes = _two(text, at + 1), _two(text, at + 4)
    if not (0 <= hours < 24 and 0 <= minutes < 60):
        return NOTHING, np.int64(0)
    us = (hours * 60 + minutes) * 60 * SECONDS
    return at + 6, us if text[at] == PLUS else -us


@njit(forceinline=True, _nrt=False)
def _mixed(words, begin, end):
    """Hash a name."""
    size = end - begin
    mixed = ((words[begin] & _head(size)) ^ np.uint64(size)) * ODD
    mixed = (mixed ^ (mixed >> SHIFT) ^ (words[begin + 8] & _head(size - 8))) * OTHER_ODD
    for place in range(begin + 16, end, 8):
        mixed = (mixed ^ (mixed >> SHIFT) ^ (words[place] & _head(end - place))) * ODD
    return mixed ^ (mixed >> SHIFT)


@njit(forceinline=True, _nrt=False)
def _is_name(text, words, begin, end, heads, names, kept, code):
    """Say whether a name has a code; below 0 is none. No name holds a zero byte."""
    size = end - begin
    if code < 0 or heads[code, 0] != words[begin] & _head(size):
        return False
    if heads[code, 1] != words[begin + 8] & _head(size - 8):
        return False
    there = names[code]
    return size < 16 or (
        names[code + 1] - there == size and _same(text, begin + 16, end, kept, there + 16)
    )


@njit(_nrt=False)
def _coded(text, words, begin, end, slot, table, heads, names, kept, known):
    """Give a name's code, a new one if it is new; and how many names there are."""
    while table[slot] >= 0:
        if _is_name(text, words, begin, end, heads, names, kept, table[slot]):
            return table[slot], known
        slot = (slot + np.uint64(1)) & np.uint64(len(table) - 1)
    size, there = end - begin, names[known]
    table[slot] = known
    heads[known, 0] = words[begin] & _head(size)
    heads[known, 1] = words[begin + 8] & _head(size - 8)
    names[known + 1] = there + size
    for byte in range(size):
        kept[there + byte] = text[begin + byte]
    return np.int32(known), known + 1


@njit(forceinline=True, _nrt=False)
def _head(count):
    """Mask the first bytes of a word; of 8 or more, all."""
    if count >= 8:
        return FULL
    return NONE if count <= 0 else FULL >> np.uint64(64 - 8 * count)


@njit(forceinline=True, _nrt=False)
def _same(text, begin, end, other, other_begin):
    size, alike = end - begin, 0
    while alike < size and text[begin + alike] == other[other_begin + alike]:
        alike += 1
    return alike == size
