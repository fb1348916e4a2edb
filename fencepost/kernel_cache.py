"""Where compiled kernels are cached: a folder for each state of what they are compiled from.

Numba checks nothing but a kernel's own file. It would load machine code of a callee, a record or
an instruction that has changed in another file, and fails on a record that is gone.

Law: machine code that is loaded was compiled from the current sources. (That it was compiled by
the Numba and for the Python that load it, Numba sees to.)
"""

import hashlib
import re
from functools import cache
from pathlib import Path

ENGINE = Path(__file__).parent
_OF_KERNELS = re.compile(rb"^(?:from|import) (?:numba|llvmlite)\b|\(NamedTuple\):$", re.MULTILINE)


@cache
def fingerprint(engine: Path = ENGINE) -> str:
    """Return a digest of all modules with kernels, or with records that they are given: 10 ms."""
    digest = hashlib.sha256()
    for path in sorted(engine.rglob("*.py")):
        source = path.read_bytes()
        if _OF_KERNELS.search(source):
            digest.update(path.relative_to(engine).as_posix().encode() + b"\0" + source)
    return digest.hexdigest()[:12]
