"""The parameters of an index beside its boxes, and errors that say what was expected.

Law: None is the same as absent; the index chooses by itself.
"""

from collections.abc import Collection, Mapping
from math import inf

from fencepost.errors import InputError
from fencepost.matches.index import Parameter
from fencepost.text import did_you_mean, shortened

Parameters = Mapping[str, Parameter]


def only(index: str, parameters: Parameters, *known: str) -> None:
    """Refuse parameters that the index does not have, by name."""
    for name in parameters:
        if name not in known:
            raise InputError(
                f"the index '{index}' has no parameter '{shortened(name)}'; it has: "
                f"{', '.join(known) or 'none'}.{did_you_mean(name, known)}"
            )


def whole(parameters: Parameters, name: str, least: int, most: int | None = None) -> int | None:
    """Check a whole number from `least` to `most`; None where absent."""
    value = parameters.get(name)
    if value is None:
        return None
    top = inf if most is None else most
    if isinstance(value, int) and not isinstance(value, bool) and least <= value <= top:
        return value
    limits = f"of {least:,} or more" if most is None else f"from {least:,} to {most:,}"
    raise _unlike(name, value, f"a whole number {limits}")


def real(parameters: Parameters, name: str, least: float, most: float) -> float | None:
    """Check a real number from `least` to `most`; None where absent."""
    value = parameters.get(name)
    if value is None:
        return None
    if isinstance(value, int | float) and not isinstance(value, bool) and least <= value <= most:
        return float(value)
    raise _unlike(name, value, f"a number from {least:,} to {most:,}")


def one_of(parameters: Parameters, name: str, options: Collection[str]) -> str | None:
    """Check that it is one of some words; None where absent."""
    value = parameters.get(name)
    if value is None:
        return None
    if isinstance(value, str) and value in options:
        return value
    near = did_you_mean(value, options) if isinstance(value, str) else ""
    raise _unlike(name, value, f"one of: {', '.join(options)}.{near}")


def _unlike(name: str, value: Parameter, expected: str) -> InputError:
    return InputError(f"{name} is {shortened(repr(value))}, expected {expected}")
