"""Rows of 512 bits as one vector each: of a loop over eight words the compiler makes eight words.

Law: an index is that of a row's first word; eight are read or written from there on.
"""

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

WORDS = 8

_NUMBER = ir.IntType(64)
_ROW = ir.VectorType(_NUMBER, WORDS)


def _place(context, builder, signature, arguments, which):
    """Where a row begins in array argument `which`, at the index that is given next."""
    data = context.make_array(signature.args[which])(context, builder, arguments[which]).data
    return builder.bitcast(builder.gep(data, [arguments[which + 1]]), _ROW.as_pointer())


def _load(context, builder, signature, arguments, which):
    return builder.load(_place(context, builder, signature, arguments, which), align=8)


def _counted(builder, row):
    """How many bits of a row are set."""
    for name, returns in (("llvm.ctpop.v8i64", _ROW), ("llvm.vector.reduce.add.v8i64", _NUMBER)):
        kind = ir.FunctionType(returns, [row.type])
        row = builder.call(cgutils.get_or_insert_function(builder.module, kind, name), [row])
    return row


@intrinsic
def stretch(typing_context, first_of, begin, same, end, target, at):
    """Write the difference of two rows: the tuples from one rank to another."""

    def generate(context, builder, signature, arguments):
        rows = [_load(context, builder, signature, arguments, which) for which in (0, 2)]
        to = _place(context, builder, signature, arguments, 4)
        builder.store(builder.xor(*rows), to, align=8)
        return context.get_dummy_value()

    return types.void(first_of, begin, same, end, target, at), generate


@intrinsic
def narrow(typing_context, first_of, begin, same, end, target, at):
    """Keep, of a row, the tuples from one rank to another."""

    def generate(context, builder, signature, arguments):
        rows = [_load(context, builder, signature, arguments, which) for which in (0, 2)]
        to = _place(context, builder, signature, arguments, 4)
        kept = builder.and_(builder.xor(*rows), builder.load(to, align=8))
        builder.store(kept, to, align=8)
        return context.get_dummy_value()

    return types.void(first_of, begin, same, end, target, at), generate


@intrinsic
def meet(typing_context, one, one_at, other, other_at, target, at):
    """AND two rows into a third, and return how many bits are left."""

    def generate(context, builder, signature, arguments):
        rows = [_load(context, builder, signature, arguments, which) for which in (0, 2)]
        met = builder.and_(*rows)
        builder.store(met, _place(context, builder, signature, arguments, 4), align=8)
        return _counted(builder, met)

    return types.uint64(one, one_at, other, other_at, target, at), generate


@intrinsic
def join(typing_context, one, one_at, target, at):
    """OR a row into another, and return how many bits are set then."""

    def generate(context, builder, signature, arguments):
        to = _place(context, builder, signature, arguments, 2)
        joined = builder.or_(
            _load(context, builder, signature, arguments, 0), builder.load(to, align=8)
        )
        builder.store(joined, to, align=8)
        return _counted(builder, joined)

    return types.uint64(one, one_at, target, at), generate
