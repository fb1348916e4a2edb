"""Test sixteen candidates with a few instructions, and write those that pass side by side.

A loop over candidates writes each and steps on past those that pass: 0.5 ns for one comparison,
0.9 for two. Vectors compare faster, but no compiler finds the closing up; LLVM has an operation for
it, which is one instruction where the processor has AVX-512 (0.2 to 0.3 ns a candidate), and is
spelt out elsewhere.

Each function here is its own twin: what stands in its body is run where nothing is compiled. All
take the place `k` of the first candidate and the `end` of the list, of which they look at 16 at
most; arrays must have as many entries to spare, behind the end and behind `w`.
"""

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, overload

LANES = 16
U = np.uint64
TOP, ONE = 0x8000800080008000, 0x0001000100010001

LONG, INT, BIT = ir.IntType(64), ir.IntType(32), ir.IntType(1)
LONGS, INTS = ir.VectorType(LONG, LANES), ir.VectorType(INT, LANES)
DOUBLES, BITS = ir.VectorType(ir.DoubleType(), LANES), ir.VectorType(BIT, LANES)


def keep_above(hi, value, ids, k, end, room, w):
    """Write the ids whose hi is above the value; give how many."""
    kept = [ids[j] for j in range(k, min(k + LANES, end)) if hi[j] > value]
    room[w : w + len(kept)] = kept
    return U(len(kept))


def keep_between(lo, hi, value, ids, k, end, room, w):
    """Write the ids whose bounds hold the value; give how many."""
    kept = [ids[j] for j in range(k, min(k + LANES, end)) if lo[j] <= value < hi[j]]
    room[w : w + len(kept)] = kept
    return U(len(kept))


def keep_steps(words, word, ids, k, end, room, w):
    """Write the ids whose word has no field above that of `word`.

    Every field of `word` has its top bit set. Give how many, and what is not 0 if a field of one
    that is written came out even.
    """
    ours = np.array([word]).view(np.uint16) & 0x7FFF
    kept, even = [], 0
    for j in range(k, min(k + LANES, end)):
        theirs = words[j : j + 1].view(np.uint16)
        if (ours >= theirs).all():
            kept.append(ids[j])
            even |= int((ours == theirs).any())
    room[w : w + len(kept)] = kept
    return U(len(kept)), U(even)


class _Lanes:
    """Code for sixteen lanes of the arguments of a function."""

    def __init__(self, context, builder, signature, arguments):
        self.context, self.builder = context, builder
        self.types, self.arguments = signature.args, arguments
        self.result = signature.return_type

    def at(self, argument, index, kind):
        """Give the address of sixteen entries of an array."""
        array = self.context.make_array(self.types[argument])
        data = array(self.context, self.builder, self.arguments[argument]).data
        return self.builder.bitcast(self.builder.gep(data, [index]), kind.as_pointer())

    def load(self, argument, index, kind, align):
        """Load sixteen entries of an array."""
        return self.builder.load(self.at(argument, index, kind), align=align)

    def every(self, value, kind):
        """Put one value into every lane."""
        nothing = ir.Constant(kind, ir.Undefined)
        first = self.builder.insert_element(nothing, value, INT(0))
        return self.builder.shuffle_vector(first, nothing, ir.Constant(INTS, [0] * LANES))

    def before(self, k, end):
        """Say which lanes stand before the end."""
        lane = ir.Constant(LONGS, list(range(LANES)))
        return self.builder.icmp_unsigned("<", lane, self.every(self.builder.sub(end, k), LONGS))

    def keep(self, mask, ids, k, room, w):
        """Close up the ids of these lanes, and write all sixteen; give how many count."""
        name = f"llvm.experimental.vector.compress.v{LANES}i32"
        close_up = cgutils.get_or_insert_function(
            self.builder.module, ir.FunctionType(INTS, [INTS, BITS, INTS]), name
        )
        some = [self.load(ids, k, INTS, 4), mask, ir.Constant(INTS, ir.Undefined)]
        self.builder.store(self.builder.call(close_up, some), self.at(room, w, INTS), align=4)
        return self.builder.ctpop(self.bits(mask))

    def bits(self, mask):
        """Give a mask as a number."""
        return self.builder.zext(self.builder.bitcast(mask, ir.IntType(LANES)), LONG)


@intrinsic
def _keep_above(typing_context, hi, value, ids, k, end, room, w):
    def generate(context, builder, signature, arguments):
        lanes = _Lanes(context, builder, signature, arguments)
        _, value, _, k, end, _, w = arguments
        above = lanes.load(0, k, DOUBLES, 8)
        mask = builder.fcmp_ordered(">", above, lanes.every(value, DOUBLES))
        return lanes.keep(builder.and_(mask, lanes.before(k, end)), 2, k, 5, w)

    return types.uint64(hi, value, ids, k, end, room, w), generate


@intrinsic
def _keep_between(typing_context, lo, hi, value, ids, k, end, room, w):
    def generate(context, builder, signature, arguments):
        lanes = _Lanes(context, builder, signature, arguments)
        _, _, value, _, k, end, _, w = arguments
        every = lanes.every(value, DOUBLES)
        above = builder.fcmp_ordered(">", lanes.load(1, k, DOUBLES, 8), every)
        begun = builder.fcmp_ordered("<=", lanes.load(0, k, DOUBLES, 8), every)
        mask = builder.and_(builder.and_(above, begun), lanes.before(k, end))
        return lanes.keep(mask, 3, k, 6, w)

    return types.uint64(lo, hi, value, ids, k, end, room, w), generate


@intrinsic
def _keep_steps(typing_context, words, word, ids, k, end, room, w):
    def generate(context, builder, signature, arguments):
        lanes = _Lanes(context, builder, signature, arguments)
        _, word, _, k, end, _, w = arguments
        top, one = (ir.Constant(LONGS, [field] * LANES) for field in (TOP, ONE))
        left = builder.sub(lanes.every(word, LONGS), lanes.load(0, k, LONGS, 8))
        less = builder.sub(left, one)
        mask = builder.icmp_unsigned("==", builder.and_(left, top), top)
        mask = builder.and_(mask, lanes.before(k, end))
        odd = builder.icmp_unsigned("==", builder.and_(less, top), top)
        even = builder.and_(mask, builder.not_(odd))
        kept = lanes.keep(mask, 2, k, 5, w)
        return context.make_tuple(builder, lanes.result, (kept, lanes.bits(even)))

    both = types.Tuple((types.uint64, types.uint64))
    return both(words, word, ids, k, end, room, w), generate


@overload(keep_above, inline="always")
def _keep_above_compiled(hi, value, ids, k, end, room, w):
    return lambda hi, value, ids, k, end, room, w: _keep_above(hi, value, ids, k, end, room, w)  # noqa: PLW0108


@overload(keep_between, inline="always")
def _keep_between_compiled(lo, hi, value, ids, k, end, room, w):
    return lambda lo, hi, value, ids, k, end, room, w: _keep_between(  # noqa: PLW0108
        lo, hi, value, ids, k, end, room, w
    )


@overload(keep_steps, inline="always")
def _keep_steps_compiled(words, word, ids, k, end, room, w):
    return lambda words, word, ids, k, end, room, w: _keep_steps(  # noqa: PLW0108
        words, word, ids, k, end, room, w
    )
