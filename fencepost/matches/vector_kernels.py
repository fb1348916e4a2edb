"""Vectors, written out in LLVM's own terms, for the kernels of packed and bitmaps.

Of a loop over sixteen comparisons the compiler makes no mask of sixteen bits, and of a loop that
keeps those of sixteen numbers whose bit is set, no compression. Here each is one instruction or
two, where the processor has them; where it has not, LLVM writes what does the same.

Law: an index is that of the first entry; what is read or written from there on is the caller's.

Kernels that are run as plain Python, too, count and find bits: `ones` and `lowest` are their own
twins there.
"""

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic, overload

from fencepost.tuples import Int32s, Int64s

U = np.uint64
LANES = 16  # doubles, or numbers of 32 bits, that are taken together
WORDS = 8  # words of a row: 512 bits

_DOUBLE, _BYTE, _SHORT, _NUMBER = ir.DoubleType(), ir.IntType(8), ir.IntType(32), ir.IntType(64)
_DOUBLES = ir.VectorType(_DOUBLE, LANES)
_SHORTS = ir.VectorType(_SHORT, LANES)
_BYTES = ir.VectorType(_BYTE, 64)
_ROW = ir.VectorType(_NUMBER, WORDS)


def _array(context, builder, signature, arguments, which):
    return context.make_array(signature.args[which])(context, builder, arguments[which]).data


def _place(context, builder, signature, arguments, which, vector):
    """Where a vector begins in array argument `which`, from the index on that is given next."""
    data = _array(context, builder, signature, arguments, which)
    return builder.bitcast(builder.gep(data, [arguments[which + 1]]), vector.as_pointer())


def _spread(builder, vector, value):
    """Put one value into all places of a vector."""
    nothing = ir.Constant(vector, ir.Undefined)
    one = builder.insert_element(nothing, value, _SHORT(0))
    zeros = ir.Constant(ir.VectorType(_SHORT, vector.count), [0] * vector.count)
    return builder.shuffle_vector(one, nothing, zeros)


def _call(builder, name, returns, *arguments):
    kind = ir.FunctionType(returns, [each.type for each in arguments])
    return builder.call(cgutils.get_or_insert_function(builder.module, kind, name), arguments)


def _bits(builder, held):
    """The places of a vector of truths as the lowest bits of a number."""
    word = builder.bitcast(held, ir.IntType(held.type.count))
    return word if held.type.count == 64 else builder.zext(word, _NUMBER)


def ones(word):
    """Count the bits that are set."""
    return int(word).bit_count()


def lowest(word):
    """Find the lowest bit that is set; 64 where none is."""
    return (int(word) & -int(word)).bit_length() - 1 if word else 64


@intrinsic
def _ctpop(typing_context, word):
    def generate(context, builder, signature, arguments):
        return builder.ctpop(arguments[0])

    return types.uint64(types.uint64), generate


@intrinsic
def _cttz(typing_context, word):
    def generate(context, builder, signature, arguments):
        return builder.cttz(arguments[0], ir.IntType(1)(0))

    return types.uint64(types.uint64), generate


@overload(ones, inline="always")
def _ones_compiled(word):
    return lambda word: _ctpop(word)  # noqa: PLW0108  Numba wants a function


@overload(lowest, inline="always")
def _lowest_compiled(word):
    return lambda word: _cttz(word)  # noqa: PLW0108


@intrinsic
def within(typing_context, lo, lo_at, hi, hi_at, value):
    """Which of sixteen ranges hold the value, lo <= value < hi, as bits."""

    def generate(context, builder, signature, arguments):
        low, high = (
            builder.load(_place(context, builder, signature, arguments, n, _DOUBLES), align=8)
            for n in (0, 2)
        )
        here = _spread(builder, _DOUBLES, arguments[4])
        from_low = builder.fcmp_ordered("<=", low, here)
        return _bits(builder, builder.and_(from_low, builder.fcmp_ordered("<", here, high)))

    return types.uint64(lo, lo_at, hi, hi_at, value), generate


@intrinsic
def at_or_below(typing_context, numbers, at, value):
    """How many of sixteen doubles are not above the value."""

    def generate(context, builder, signature, arguments):
        some = builder.load(_place(context, builder, signature, arguments, 0, _DOUBLES), align=8)
        held = builder.fcmp_ordered("<=", some, _spread(builder, _DOUBLES, arguments[2]))
        return builder.ctpop(_bits(builder, held))

    return types.uint64(numbers, at, value), generate


def _bytes_compared(operation):
    """Make the test of sixty-four bytes of an array against one number."""

    def tested(typing_context, numbers, at, number):
        def generate(context, builder, signature, arguments):
            some = builder.load(_place(context, builder, signature, arguments, 0, _BYTES), align=1)
            one = _spread(builder, _BYTES, builder.trunc(arguments[2], _BYTE))
            return _bits(builder, builder.icmp_unsigned(operation, some, one))

        return types.uint64(numbers, at, number), generate

    return tested


up_to = intrinsic(_bytes_compared("<="))  # which of sixty-four bytes are at most the number
at_least = intrinsic(_bytes_compared(">="))  # and which are at least


@intrinsic
def put(typing_context, ids, at, room, w, mask):
    """Write those of sixteen ids whose bit is set to room[w:]; return w, moved on.

    What stands in the room up to w + 16 is written over.
    """

    def generate(context, builder, signature, arguments):
        some = builder.load(_place(context, builder, signature, arguments, 0, _SHORTS), align=4)
        narrow = builder.trunc(arguments[4], ir.IntType(LANES))
        bits = builder.bitcast(narrow, ir.VectorType(ir.IntType(1), LANES))
        name = f"llvm.experimental.vector.compress.v{LANES}i32"
        chosen = _call(builder, name, _SHORTS, some, bits, ir.Constant(_SHORTS, ir.Undefined))
        to = _place(context, builder, signature, arguments, 2, _SHORTS)
        builder.store(chosen, to, align=4)
        return builder.add(arguments[3], builder.zext(builder.ctpop(narrow), _NUMBER))

    return types.uint64(ids, at, room, w, mask), generate


@intrinsic
def copy(typing_context, source, at, target, to, many):
    """Copy up to sixteen numbers of 32 bits; nothing behind them is written, only read."""

    def generate(context, builder, signature, arguments):
        places = [_place(context, builder, signature, arguments, n, _SHORTS) for n in (0, 2)]
        steps = ir.Constant(_SHORTS, list(range(LANES)))
        limit = _spread(builder, _SHORTS, builder.trunc(arguments[4], _SHORT))
        mask = builder.icmp_unsigned("<", steps, limit)
        some = builder.load(places[0], align=4)
        name = f"llvm.masked.store.v{LANES}i32.p0"
        _call(builder, name, ir.VoidType(), some, places[1], mask)
        return context.get_dummy_value()

    return types.void(source, at, target, to, many), generate


@intrinsic
def meet(typing_context, words, base, rows, row_at, axes, sure, unsure):
    """AND the rows of a point, one an axis: who is sure to hold it, and who may.

    Row r begins at words[base + 16 r]: eight words of those who hold some of the stretch, eight of
    those who hold all of it. Returns, from the lowest bit up, which words of `sure` have any bit,
    which of `unsure`, eight bits each, and how many are sure.
    """

    def generate(context, builder, signature, arguments):
        words_at, rows_at, *met_at = (
            _array(context, builder, signature, arguments, n) for n in (0, 2, 5, 6)
        )
        base, row_at, axes = (arguments[n] for n in (1, 3, 4))
        every = ir.Constant(_ROW, [(1 << 64) - 1] * WORDS)
        met = [cgutils.alloca_once_value(builder, every) for _ in range(2)]
        with cgutils.for_range(builder, axes, intp=_NUMBER) as loop:
            row = builder.load(builder.gep(rows_at, [builder.add(row_at, loop.index)]))
            row = builder.mul(builder.zext(row, _NUMBER), _NUMBER(2 * WORDS))
            for half, kept in enumerate(met):
                at = builder.add(builder.add(base, row), _NUMBER(half * WORDS))
                where = builder.bitcast(builder.gep(words_at, [at]), _ROW.as_pointer())
                builder.store(builder.and_(builder.load(kept), builder.load(where, align=8)), kept)
        some, all_of_it = (builder.load(kept) for kept in met)
        known = builder.and_(some, all_of_it)
        parts = (known, builder.and_(some, builder.not_(all_of_it)))
        told = _NUMBER(0)
        for place, (part, to) in enumerate(zip(parts, met_at, strict=True)):
            builder.store(part, builder.bitcast(to, _ROW.as_pointer()), align=8)
            filled = builder.icmp_unsigned("!=", part, ir.Constant(_ROW, [0] * WORDS))
            which = builder.shl(_bits(builder, filled), _NUMBER(place * WORDS))
            told = builder.or_(told, which)
        counts = _call(builder, f"llvm.ctpop.v{WORDS}i64", _ROW, known)
        total = _call(builder, f"llvm.vector.reduce.add.v{WORDS}i64", _NUMBER, counts)
        return builder.or_(told, builder.shl(total, _NUMBER(2 * WORDS)))

    return types.uint64(words, base, rows, row_at, axes, sure, unsure), generate


@njit(cache=True, nogil=True, error_model="numpy")
def gather(
    found: Int32s, whose: Int32s, sizes: Int32s, slices: int, ptr: Int64s, room: Int32s
):  # fmt: skip
    """Put the slices of each point behind each other from room[ptr[0]] on, and fill ptr[1:].

    `found` holds slice after slice, and sixteen places more; `whose` each is, and its size.
    """
    many = U(len(ptr) - 1)
    ends = np.zeros(many, np.int64)
    for s in range(U(slices)):
        ends[whose[s]] += sizes[s]
    for i in range(many):
        ptr[i + U(1)] = ptr[i] + ends[i]
        ends[i] = ptr[i]
    at = U(0)
    for s in range(U(slices)):
        point, size = U(whose[s]), U(sizes[s])
        to = U(ends[point])
        for done in range(U(0), size, U(LANES)):
            copy(found, at + done, room, to + done, min(size - done, U(LANES)))
        ends[point] += np.int64(size)
        at += size
