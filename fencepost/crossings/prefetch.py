"""Ask the memory for an array's entry before it is needed.

No effect but on time; interpreted, none at all.
"""

from typing import Any

import numpy as np
import numpy.typing as npt
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic, overload


def prefetch(array: npt.NDArray[Any], index: int | np.unsignedinteger[Any]) -> None:
    """Do nothing: the interpreter has no say in what is cached."""


@intrinsic
def _prefetch(typing_context, array, index):
    def generate(context, builder, signature, arguments):
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        byte = ir.IntType(8).as_pointer()
        number = ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [byte, number, number, number])
        call = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
        address = builder.bitcast(builder.gep(data, [arguments[1]]), byte)
        builder.call(call, [address, number(0), number(3), number(1)])  # to read, keep, data
        return context.get_dummy_value()

    return types.void(array, index), generate


@overload(prefetch, inline="always")
def _prefetch_compiled(array, index):
    return lambda array, index: _prefetch(array, index)  # noqa: PLW0108  Numba wants a function
