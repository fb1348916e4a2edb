"""What a user may ask of these indexes, and refusals that say what was expected."""

from collections.abc import Mapping

from fencepost.errors import InputError
from fencepost.matches.index import Parameter
from fencepost.matches.vci.grid import FEWEST_POSITIONS, GRIDS, MOST_POSITIONS
from fencepost.queries.wording import did_you_mean, shortened


def positions_and_grid(parameters: Mapping[str, Parameter]) -> tuple[int | None, str]:
    """Take R, or None for a good one, and the kind of grid."""
    positions = whole(parameters, "positions", FEWEST_POSITIONS, MOST_POSITIONS)
    grid = parameters.get("grid")
    if grid is None:
        return positions, GRIDS[0]
    if grid not in GRIDS:
        raise InputError(
            f"grid is '{shortened(str(grid))}', expected one of: {', '.join(GRIDS)}."
            f"{did_you_mean(str(grid), GRIDS)}"
        )
    return positions, str(grid)


def whole(parameters: Mapping[str, Parameter], name: str, least: int, most: int) -> int | None:
    """Take a whole number from a range; None where it is not given."""
    value = parameters.get(name)
    if value is None:
        return None
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise InputError(
            f"{name} is {shortened(repr(value))}, "
            f"expected a whole number from {least:,} to {most:,}"
        )
    return value


def refuse_unknown(index: str, parameters: Mapping[str, Parameter], known: tuple[str, ...]) -> None:
    """Refuse parameters that the index has not."""
    for name in parameters:
        if name not in known:
            raise InputError(
                f"the index '{index}' has no parameter '{shortened(name)}'; it has: "
                f"{', '.join(known)}.{did_you_mean(name, known)}"
            )
