"""Options that say how the features of a map become standing queries.

Law: a property is read as a field only if it has the field's name, or an option says so.
"""

from typing import TYPE_CHECKING, Annotated

import typer

from fencepost.errors import InputError
from fencepost.text import counted, did_you_mean, few, shortened

if TYPE_CHECKING:  # Arrow is imported where it is needed: --help stays quick
    from fencepost.queries.geojson_fields import FeatureFields

MOST_NAMED = 8

IdProperty = Annotated[
    str | None,
    typer.Option(
        "--id",
        metavar="PROPERTY",
        help="GeoJSON and its like: the property that is the id. Default: the feature's own id.",
    ),
]
Mapped = Annotated[
    list[str] | None,
    typer.Option(
        "--map",
        metavar="FIELD=PROPERTY",
        help="The property that is a field: note=description, radius=buffer, tags=class,level. "
        "Default: the one of the field's name. Repeatable.",
    ),
]
Where = Annotated[
    str | None,
    typer.Option("--where", metavar="TEXT", help="A condition for features that have none."),
]
Within = Annotated[
    str | None,
    typer.Option(
        "--within",
        metavar="DURATION",
        help="Likewise: how long until a crossing is decided: 90s, 3m.",
    ),
]
Kind = Annotated[
    str | None,
    typer.Option("--kind", metavar="crossing|match", help="Likewise: the kind."),
]
Radius = Annotated[
    str | None,
    typer.Option("--radius", metavar="DISTANCE", help="The radius of points that have none: 150m."),
]
Width = Annotated[
    str | None,
    typer.Option("--width", metavar="DISTANCE", help="The width of lines that have none: 50m."),
]
Leaps = Annotated[
    bool,
    typer.Option("--leaps", help="Report steps that leap through any of these zones, too."),
]
Layer = Annotated[
    str | None,
    typer.Option("--layer", metavar="NAME", help="The layer of a GeoPackage that has several."),
]


def feature_fields(
    id_property: str | None,
    mapped: list[str] | None,
    declared_id: str | None = None,
    **otherwise: object,
) -> "FeatureFields":
    """Put the options together; InputError where one names no field.

    The id that a project declares is that of its own files: other features may have theirs.
    """
    from fencepost.queries.geojson_fields import FIELDS, RADIUS, SEVERAL, WIDTH, FeatureFields

    known = (*FIELDS, RADIUS, WIDTH)
    name_of_id = id_property or declared_id
    of: dict[str, tuple[str, ...]] = {} if name_of_id is None else {"id": (name_of_id,)}
    for each in mapped or ():
        name, _, properties = each.partition("=")
        if name not in known:
            near = did_you_mean(name, known)
            raise InputError(
                f"--map {shortened(each)}: FIELD=PROPERTY was expected, where FIELD is one of "
                f"{', '.join(known)}.{near}"
            )
        named = tuple(part.strip() for part in properties.split(",") if part.strip())
        if not named or (len(named) > 1 and name not in SEVERAL):
            raise InputError(f"--map {shortened(each)}: one property was expected")
        of[name] = named
    given = {name: value for name, value in otherwise.items() if value not in (None, [])}
    return FeatureFields(of, given, own_ids=id_property is None, unread={})


def note_unread(fields: "FeatureFields") -> None:
    """Say which properties of the features are no field, in case one was meant to be."""
    if fields.unread:
        names = few([shortened(name) for name in sorted(fields.unread)], MOST_NAMED)
        many = counted(len(fields.unread), "property is no field", "properties are no fields")
        hint = "--map FIELD=PROPERTY makes one a field"
        typer.echo(f"note: {many} of a query: {names}; {hint}", err=True)
