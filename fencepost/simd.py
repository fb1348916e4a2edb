"""The instructions that kernels use and Numba has no word for: vectors, bits, prefetching.

Of a loop over sixteen comparisons the compiler makes no mask of sixteen bits, of a loop that keeps
those whose bit is set no compression, and of a loop over eight words eight words. Here each is one
instruction or two where the processor has them; where it has not, LLVM writes what does the same.

Each is a plain function, which is run where nothing is compiled, followed by the instructions that
replace it in a kernel. Both do the same: `tests/unit/test_simd.py`.

Law: an index is that of the first entry; what is read or written from there on is up to the caller.
"""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.typing.templates import Signature, signature
from numba.extending import lower_builtin, type_callable

U = np.uint64
LANES = 16  # doubles, or numbers of 32 bits, in a vector
GROUP = 64  # bytes in one
WORDS = 8  # words of a row: 512 bits

BYTE, SHORT, LONG, BIT = ir.IntType(8), ir.IntType(32), ir.IntType(64), ir.IntType(1)
DOUBLES, SHORTS = ir.VectorType(ir.DoubleType(), LANES), ir.VectorType(SHORT, LANES)
LONGS, BITS = ir.VectorType(LONG, LANES), ir.VectorType(BIT, LANES)
BYTES, ROW = ir.VectorType(BYTE, GROUP), ir.VectorType(LONG, WORDS)

# ── how an instruction is written ─────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Memory:
    """An array within a kernel: vectors of any kind are read and written at any index."""

    builder: ir.IRBuilder
    array: Any

    def address(self, index, kind):
        """Give the address from an entry on, as that of some kind of value."""
        return self.builder.bitcast(self.builder.gep(self.array.data, [index]), kind.as_pointer())

    def load(self, index, kind):
        """Read a vector."""
        return self.builder.load(self.address(index, kind), align=_aligned(kind))

    def store(self, index, vector):
        """Write a vector."""
        self.builder.store(vector, self.address(index, vector.type), align=_aligned(vector.type))


def _aligned(kind):
    return 8 if isinstance(kind.element, ir.DoubleType) else kind.element.width // 8


@dataclass(frozen=True)
class _Typer:
    """What an instruction returns; what it is given is cast to `takes` where that says so."""

    pysig: inspect.Signature
    returns: Any
    takes: tuple[Any, ...]

    def __call__(self, *given: Any) -> Signature:
        takes = tuple(own or each for own, each in zip(self.takes, given, strict=True))
        return signature(self.returns or given[0], *takes)


def compiled(twin: Callable[..., Any], returns: Any, *takes: Any) -> Callable[..., Any]:
    """Give a plain function the instructions that replace it in kernels.

    The decorated function writes them: it gets LLVM's builder, and for each argument its value, or
    the `Memory` of an array. `returns` and `takes` are Numba's types; None stands for the type of
    the argument itself, or of the first one.
    """
    pysig = inspect.signature(twin)
    takes += (None,) * (len(pysig.parameters) - len(takes))

    def register(generate: Callable[..., Any]) -> Callable[..., Any]:
        def lowered(context, builder, typed, arguments):
            def given(kind, value):
                if not isinstance(kind, types.Array):
                    return value
                return Memory(builder, context.make_array(kind)(context, builder, value))

            result = generate(builder, *map(given, typed.args, arguments))
            if result is None:
                return context.get_dummy_value()
            if isinstance(result, tuple):
                return context.make_tuple(builder, typed.return_type, result)
            return result

        type_callable(twin)(lambda _context: _Typer(pysig, returns, takes))
        lower_builtin(twin, *[types.Any] * len(takes))(lowered)
        return generate

    return register


def every(builder, value, kind):
    """Put one value into all places of a vector."""
    first = builder.insert_element(ir.Constant(kind, ir.Undefined), value, SHORT(0))
    return builder.shuffle_vector(first, first, ir.Constant(ir.VectorType(SHORT, kind.count), None))


def bits(builder, mask):
    """Give the places of a vector of truths as the lowest bits of a number."""
    word = builder.bitcast(mask, ir.IntType(mask.type.count))
    return word if mask.type.count == LONG.width else builder.zext(word, LONG)


def call(builder, name, returns, *arguments):
    """Call one of LLVM's own functions."""
    kind = ir.FunctionType(returns, [each.type for each in arguments])
    return builder.call(cgutils.get_or_insert_function(builder.module, kind, name), arguments)


def counted(builder, row):
    """Count the bits of a row."""
    counts = call(builder, f"llvm.ctpop.v{WORDS}i64", ROW, row)
    return call(builder, f"llvm.vector.reduce.add.v{WORDS}i64", LONG, counts)


def _as_word(truths):
    return U(int.from_bytes(np.packbits(truths, bitorder="little").tobytes(), "little"))


# ── memory ────────────────────────────────────────────────────────────────────────────────────────


def prefetch(array, index):
    """Have an entry fetched before it is needed; no effect but on time."""


@compiled(prefetch, types.void)
def _prefetch(builder, array, index):
    to_read, keep, data = SHORT(0), SHORT(3), SHORT(1)
    call(
        builder, "llvm.prefetch.p0", ir.VoidType(), array.address(index, BYTE), to_read, keep, data
    )


# ── bits of a word ────────────────────────────────────────────────────────────────────────────────


def ones(word):
    """Count the bits that are set."""
    return int(word).bit_count()


@compiled(ones, types.uint64, types.uint64)
def _ones(builder, word):
    return builder.ctpop(word)


def lowest(word):
    """Find the lowest bit that is set; 64 where none is."""
    return (int(word) & -int(word)).bit_length() - 1 if word else 64


@compiled(lowest, types.uint64, types.uint64)
def _lowest(builder, word):
    return builder.cttz(word, BIT(0))


# ── comparisons: bits, from the lowest up ─────────────────────────────────────────────────────────


def within(lo, lo_at, hi, hi_at, value):
    """Which of sixteen ranges hold the value, lo <= value < hi."""
    begins, ends = lo[lo_at : lo_at + U(LANES)], hi[hi_at : hi_at + U(LANES)]
    return _as_word((begins <= value) & (value < ends))


@compiled(within, types.uint64)
def _within(builder, lo, lo_at, hi, hi_at, value):
    value = every(builder, value, DOUBLES)
    begun = builder.fcmp_ordered("<=", lo.load(lo_at, DOUBLES), value)
    open_ = builder.fcmp_ordered(">", hi.load(hi_at, DOUBLES), value)
    return bits(builder, builder.and_(begun, open_))


def above(numbers, at, value):
    """Which of sixteen doubles are above the value."""
    return _as_word(numbers[at : at + U(LANES)] > value)


def up_to(numbers, at, value):
    """Which of sixteen doubles are not above the value."""
    return _as_word(numbers[at : at + U(LANES)] <= value)


def bytes_up_to(numbers, at, number):
    """Which of sixty-four bytes are at most the number."""
    return _as_word(numbers[at : at + U(GROUP)] <= number)


def bytes_from(numbers, at, number):
    """Which of sixty-four bytes are at least the number."""
    return _as_word(numbers[at : at + U(GROUP)] >= number)


def _compare(twin, operation, kind, takes):
    def generate(builder, numbers, at, value):
        some, value = numbers.load(at, kind), every(builder, value, kind)
        compare = builder.fcmp_ordered if kind is DOUBLES else builder.icmp_unsigned
        return bits(builder, compare(operation, some, value))

    compiled(twin, types.uint64, None, None, takes)(generate)


_compare(above, ">", DOUBLES, types.float64)
_compare(up_to, "<=", DOUBLES, types.float64)
_compare(bytes_up_to, "<=", BYTES, types.uint8)
_compare(bytes_from, ">=", BYTES, types.uint8)

# ── writing some of sixteen ───────────────────────────────────────────────────────────────────────


def put(ids, at, room, w, mask):
    """Write those of sixteen ids whose bit is set to room[w:]; return w, moved on.

    What is in the room up to w + 16 is written over.
    """
    chosen = [ids[at + U(k)] for k in range(LANES) if int(mask) >> k & 1]
    room[w : w + U(len(chosen))] = chosen
    return w + U(len(chosen))


@compiled(put, types.uint64)
def _put(builder, ids, at, room, w, mask):
    narrow = builder.trunc(mask, ir.IntType(LANES))
    chosen = call(
        builder,
        f"llvm.experimental.vector.compress.v{LANES}i32",
        SHORTS,
        ids.load(at, SHORTS),
        builder.bitcast(narrow, BITS),
        ir.Constant(SHORTS, ir.Undefined),
    )
    room.store(w, chosen)
    return builder.add(w, builder.zext(builder.ctpop(narrow), LONG))


def copy(source, at, target, to, many):
    """Copy up to sixteen numbers of 32 bits; nothing behind them is written, only read."""
    target[to : to + U(many)] = source[at : at + U(many)]


@compiled(copy, types.void)
def _copy(builder, source, at, target, to, many):
    limit = every(builder, builder.trunc(many, SHORT), SHORTS)
    mask = builder.icmp_unsigned("<", ir.Constant(SHORTS, list(range(LANES))), limit)
    some, address = source.load(at, SHORTS), target.address(to, SHORTS)
    call(builder, f"llvm.masked.store.v{LANES}i32.p0", ir.VoidType(), some, address, mask)


# ── rows of 512 bits ──────────────────────────────────────────────────────────────────────────────
#
# Where entries are sorted, row r has the bits of the first r: a range is what one row has and
# another, further down, has not.


def copy_range(rows, begin, end, target, at):
    """Write the range between two rows."""
    target[at : at + U(WORDS)] = rows[end : end + U(WORDS)] & ~rows[begin : begin + U(WORDS)]


@compiled(copy_range, types.void)
def _copy_range(builder, rows, begin, end, target, at):
    target.store(at, _range(builder, rows, begin, end))


def keep_range(rows, begin, end, target, at):
    """Keep, of a row, the range between two rows."""
    target[at : at + U(WORDS)] &= rows[end : end + U(WORDS)] & ~rows[begin : begin + U(WORDS)]


@compiled(keep_range, types.void)
def _keep_range(builder, rows, begin, end, target, at):
    kept = builder.and_(target.load(at, ROW), _range(builder, rows, begin, end))
    target.store(at, kept)


def _range(builder, rows, begin, end):
    return builder.and_(rows.load(end, ROW), builder.not_(rows.load(begin, ROW)))


def and_rows(one, one_at, other, other_at, target, at):
    """AND two rows into a third; return how many bits are left."""
    row = one[one_at : one_at + U(WORDS)] & other[other_at : other_at + U(WORDS)]
    target[at : at + U(WORDS)] = row
    return sum(map(ones, row))


@compiled(and_rows, types.uint64)
def _and_rows(builder, one, one_at, other, other_at, target, at):
    row = builder.and_(one.load(one_at, ROW), other.load(other_at, ROW))
    target.store(at, row)
    return counted(builder, row)


def or_row(one, one_at, target, at):
    """OR a row into another; return how many bits are set then."""
    target[at : at + U(WORDS)] |= one[one_at : one_at + U(WORDS)]
    return sum(map(ones, target[at : at + U(WORDS)]))


@compiled(or_row, types.uint64)
def _or_row(builder, one, one_at, target, at):
    row = builder.or_(one.load(one_at, ROW), target.load(at, ROW))
    target.store(at, row)
    return counted(builder, row)


def exchange(rows, k, m, j, mask):
    """Swap the bits of two rows that lie across the diagonal: a step of a 64 × 64 transposition."""
    upper, lower = rows[k : k + U(WORDS)], rows[m : m + U(WORDS)]
    change = ((upper >> j) ^ lower) & mask
    lower ^= change
    upper ^= change << j


@compiled(exchange, types.void)
def _exchange(builder, rows, k, m, j, mask):
    upper, lower = rows.load(k, ROW), rows.load(m, ROW)
    by, where = every(builder, j, ROW), every(builder, mask, ROW)
    change = builder.and_(builder.xor(builder.lshr(upper, by), lower), where)
    rows.store(m, builder.xor(lower, change))
    rows.store(k, builder.xor(upper, builder.shl(change, by)))
