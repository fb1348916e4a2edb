"""Random numbers that are the same bytes everywhere: raw PCG64 output, exact arithmetic on it.

Law: a draw depends on the seed, the purpose and the draws before it for that purpose, and on
nothing else. So more queries never move the tuples, and a longer walk begins with the shorter one.
"""

import numpy as np
import numpy.typing as npt

from fencepost.errors import InputError
from fencepost.tuples import Doubles, Int64s

LOW_BITS = np.uint64(11)  # a double has 53 of the 64
UNIT = 2.0**-53
TERMS = 12  # the sum of twelve uniform draws has variance one


class Draws:
    """The draws for one purpose, 5 ns a uniform one and 50 ns a normal one.

    `uniform` is bit for bit what `numpy.random.Generator(PCG64(…)).random` gives; it is made here
    because NumPy promises to keep the raw output of a bit generator, not its distributions.
    """

    def __init__(self, seed: int, purpose: str) -> None:
        """Open the sequence of this seed and purpose, independent of those of other purposes."""
        if seed < 0:
            raise InputError(f"seed {seed}: expected 0 or more")
        sequence = np.random.SeedSequence(seed, spawn_key=tuple(purpose.encode()))
        self._bits = np.random.PCG64(sequence)

    def raw(self, count: int) -> npt.NDArray[np.uint64]:
        """Return 64-bit words."""
        words: npt.NDArray[np.uint64] = self._bits.random_raw(count)
        return words

    def uniform(self, count: int) -> Doubles:
        """Return doubles on [0, 1)."""
        drawn: Doubles = (self.raw(count) >> LOW_BITS).astype(np.float64)  # exact: 53 bits
        drawn *= UNIT
        return drawn

    def between(self, low: float, high: float, count: int) -> Doubles:
        """Return doubles on [low, high]."""
        return low + (high - low) * self.uniform(count)

    def below(self, bound: int, count: int) -> Int64s:
        """Return integers on [0, bound), for bounds far below 2**53."""
        return (self.uniform(count) * bound).astype(np.int64)

    def normal(self, count: int) -> Doubles:
        """Return nearly normal doubles, mean 0 and deviation 1, never beyond ±6.

        They are sums of twelve uniform draws (Irwin and Hall): a true normal draw takes a
        logarithm, whose last bit is not the same on every machine.
        """
        total = np.full(count, -TERMS / 2)
        for _ in range(TERMS):
            total += self.uniform(count)
        return total

    def order(self, count: int) -> Int64s:
        """Return the numbers below count, shuffled."""
        return np.argsort(self.raw(count), kind="stable")


def folded(values: Doubles, low: float, high: float) -> Doubles:
    """Reflect values at both ends until they are in [low, high], as a ball between two walls.

    A step of a walk keeps its length, unless the walk is reflected in it.
    """
    span = high - low
    phase = np.abs(values - low) % (2.0 * span)  # the path repeats after two spans
    return low + np.minimum(phase, 2.0 * span - phase)
