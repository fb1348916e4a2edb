"""What a processor does at once and Numba has no word for: bytes and words in vectors.

Each function is plain Python with NumPy, and in a kernel the few instructions that do the same.
LLVM cuts the vectors to what the machine has. Written out word by word, Numba's compiler left the
same work in single words.
"""

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic, overload

U = np.uint64
GROUP = 64  # boxes whose codes are compared together: one word of bits
WORDS = 8  # of a row of points: 512 bits
BYTES = ir.VectorType(ir.IntType(8), GROUP)
ROW = ir.VectorType(ir.IntType(64), WORDS)

# ── codes of 64 boxes ─────────────────────────────────────────────────────────────────────────────


def may(codes, at, least, most):
    """Mark of 64 boxes those whose ends, in codes, let them hold values from least to most."""
    held = (codes[at : at + GROUP] <= most) & (codes[at + GROUP : at + 2 * GROUP] >= least)
    return U(int.from_bytes(np.packbits(held, bitorder="little").tobytes(), "little"))


def must(codes, at, least, most):
    """Mark of 64 boxes those that hold all values from least to most, whatever the codes hide."""
    held = (codes[at : at + GROUP] < least) & (codes[at + GROUP : at + 2 * GROUP] > most)
    return U(int.from_bytes(np.packbits(held, bitorder="little").tobytes(), "little"))


def _each(builder, kind, value):
    one = builder.insert_element(ir.Constant(kind, ir.Undefined), value, ir.IntType(32)(0))
    lanes = ir.VectorType(ir.IntType(32), kind.count)
    return builder.shuffle_vector(one, one, ir.Constant(lanes, [0] * kind.count))


def _codes(context, builder, kind, array, index):
    data = context.make_array(kind)(context, builder, array).data
    return builder.load(builder.bitcast(builder.gep(data, [index]), BYTES.as_pointer()), align=1)


def _compared(strict):
    below, above = ("<", ">") if strict else ("<=", ">=")

    def generate(context, builder, signature, arguments):
        codes, at, least, most = arguments
        beside = builder.add(at, ir.Constant(at.type, GROUP))
        begin = _codes(context, builder, signature.args[0], codes, at)
        end = _codes(context, builder, signature.args[0], codes, beside)
        to, from_ = (least, most) if strict else (most, least)
        begins = builder.icmp_unsigned(below, begin, _each(builder, BYTES, to))
        ends = builder.icmp_unsigned(above, end, _each(builder, BYTES, from_))
        return builder.bitcast(builder.and_(begins, ends), ir.IntType(64))

    return generate


@intrinsic
def _may(typing_context, codes, at, least, most):
    return types.uint64(codes, types.uint64, types.uint8, types.uint8), _compared(strict=False)


@intrinsic
def _must(typing_context, codes, at, least, most):
    return types.uint64(codes, types.uint64, types.uint8, types.uint8), _compared(strict=True)


@overload(may, inline="always")
def _may_compiled(codes, at, least, most):
    return lambda codes, at, least, most: _may(codes, at, least, most)  # noqa: PLW0108


@overload(must, inline="always")
def _must_compiled(codes, at, least, most):
    return lambda codes, at, least, most: _must(codes, at, least, most)  # noqa: PLW0108


# ── rows of 512 bits ──────────────────────────────────────────────────────────────────────────────


def narrow(held, h, rows, a, b):
    """Leave of the points in `held`, from h on, those of the row at b that are not in that at a."""
    held[h : h + WORDS] &= rows[b : b + WORDS] & ~rows[a : a + WORDS]


def exchange(held, k, m, j, mask):
    """Swap the bits of two rows that lie across the diagonal: a step of a 64 × 64 transposition."""
    upper, lower = held[k : k + WORDS], held[m : m + WORDS]
    change = ((upper >> j) ^ lower) & mask
    lower ^= change
    upper ^= change << j


def _row(context, builder, kind, array, index):
    data = context.make_array(kind)(context, builder, array).data
    return builder.bitcast(builder.gep(data, [index]), ROW.as_pointer())


@intrinsic
def _narrow(typing_context, held, h, rows, a, b):
    def generate(context, builder, signature, arguments):
        held, h, rows, a, b = arguments
        target = _row(context, builder, signature.args[0], held, h)
        upper = builder.load(_row(context, builder, signature.args[2], rows, b), align=8)
        lower = builder.load(_row(context, builder, signature.args[2], rows, a), align=8)
        some = builder.and_(upper, builder.not_(lower))
        builder.store(builder.and_(builder.load(target, align=8), some), target, align=8)
        return context.get_dummy_value()

    return types.void(held, h, rows, a, b), generate


@intrinsic
def _exchange(typing_context, held, k, m, j, mask):
    def generate(context, builder, signature, arguments):
        held, k, m, j, mask = arguments
        first = _row(context, builder, signature.args[0], held, k)
        second = _row(context, builder, signature.args[0], held, m)
        upper, lower = builder.load(first, align=8), builder.load(second, align=8)
        by, where = _each(builder, ROW, j), _each(builder, ROW, mask)
        change = builder.and_(builder.xor(builder.lshr(upper, by), lower), where)
        builder.store(builder.xor(lower, change), second, align=8)
        builder.store(builder.xor(upper, builder.shl(change, by)), first, align=8)
        return context.get_dummy_value()

    return types.void(held, k, m, j, mask), generate


@overload(narrow, inline="always")
def _narrow_compiled(held, h, rows, a, b):
    return lambda held, h, rows, a, b: _narrow(held, h, rows, a, b)  # noqa: PLW0108


@overload(exchange, inline="always")
def _exchange_compiled(held, k, m, j, mask):
    return lambda held, k, m, j, mask: _exchange(held, k, m, j, mask)  # noqa: PLW0108
