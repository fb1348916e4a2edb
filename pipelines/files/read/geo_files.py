"""Files that geographic programs write, opened by GDAL: GeoPackage, Shapefile and their like.

They need the extra `fencepost[geo]`, whose pyogrio brings GDAL along.

Law: a layer is read whole or refused, and nothing but the file that is named, and those that belong
to it, is opened, whatever it says of others.
"""

import os
import re
from pathlib import Path

from fencepost.extras import missing_extra
from fencepost.queries.feature_table import FeatureTable
from fencepost.text import few, shortened
from pipelines.files.read.content import refusal

ENDINGS = (".gpkg", ".shp", ".shp.zip", ".shz", ".fgb", ".kml", ".gml", ".gdb.zip")
"""How the names of such files end."""
DRIVERS = ("ESRI Shapefile", "FlatGeobuf", "GML", "GPKG", "KML", "LIBKML", "OpenFileGDB")
"""What reads such files."""
_STAY_HERE = {
    "GDAL_SKIP": "OGR_VRT GDALG WFS OAPIF OGCAPI CSW HTTP",
    "GML_DOWNLOAD_WFS_SCHEMA": "NO",
}
"""Drivers of files that say where else the data is, as GDAL goes by content, not by name; and the
schema that a GML file names by its address."""
_NAME = re.compile(r'\s*\w+\["([^"]*)"')
_MOST_NAMED = 5


def is_geo_file(source: str) -> bool:
    """Recognise a file by its name."""
    return source.lower().endswith(ENDINGS)


def read_features(source: str, layer: str | None = None) -> FeatureTable:
    """Read one layer of a file: the only one that has geometries, or the one that is named."""
    for option, value in _STAY_HERE.items():  # drivers: before pyogrio is first imported
        os.environ.setdefault(option, value)
    try:
        import pyogrio
        from pyogrio.util import vsi_path
    except ModuleNotFoundError as missing:
        raise missing_extra(missing) or missing from None
    path = Path(source)
    if not path.is_file():
        raise refusal(source, "there is no such file")
    name = str(path.absolute())
    if path.suffix.lower() == ".zip":
        name = f"/vsizip/{name}"
    elif vsi_path(name) != name:
        raise refusal(source, "GDAL would open another file: rename it, without `!` and `;`")
    try:
        layers = [str(each) for each, geometry in pyogrio.list_layers(name) if geometry is not None]
        chosen = _chosen(source, layers, layer)
        driver = pyogrio.read_info(name, layer=chosen)["driver"]
        if driver not in DRIVERS:
            raise refusal(source, f"is no file of its name's kind, but of GDAL's driver {driver}")
        # Arrow's stream ends early where a file is damaged; this raises: 40 ms for 50,000 zones.
        pyogrio.raw.read(name, layer=chosen, columns=[], read_geometry=False, return_fids=True)
        meta, table = pyogrio.raw.read_arrow(name, layer=chosen)
    except (pyogrio.errors.DataSourceError, pyogrio.errors.DataLayerError, OSError) as failure:
        raise refusal(source, f"cannot be read: {str(failure).partition(';')[0]}") from None
    geometry = meta["geometry_name"] or "wkb_geometry"
    return FeatureTable(table, geometry, _crs_of(meta["crs"]))


def _chosen(source: str, layers: list[str], layer: str | None) -> str:
    if layer is not None and layer in layers:
        return layer
    if layer is None and len(layers) == 1:
        return layers[0]
    if not layers:
        raise refusal(source, "has no layer with geometries")
    given = "has several layers" if layer is None else f"has no layer '{shortened(layer)}'"
    named = few(layers, _MOST_NAMED)
    raise refusal(source, f"{given}: {named}", hint="Name one of them: --layer NAME.")


def _crs_of(crs: str | None) -> str | None:
    """Name a reference system that is given as its code, or as a text that begins with its name."""
    found = _NAME.match(crs or "")
    return found[1] if found else crs
