"""What geographic programs write is read as the same features in GeoJSON."""

import json
import socket
import subprocess
import sys
import zipfile
from pathlib import Path
from unittest import mock

import pyarrow as pa
import pytest
import shapely  # type: ignore[import-untyped]
from pyogrio.raw import write_arrow

from fencepost.errors import Faults, MissingExtra
from fencepost.queries.feature_table import FeatureTable
from pipelines.files.read.geo_files import is_geo_file, read_features

SQUARE, POINT = shapely.box(116, 39, 117, 40), shapely.Point(116.5, 39.5)
ROWS = {"name": ["a", "ü"], "within": ["3m", None], "reach": [None, 5.5]}
DRIVERS = {"zones.gpkg": "GPKG", "zones.fgb": "FlatGeobuf", "zones.shp": "ESRI Shapefile"}


def table(*geometries, **columns):
    return pa.table(
        {**columns, "wkb": [None if g is None else shapely.to_wkb(g) for g in geometries]}
    )


def write(path, rows, driver, kind="Unknown", crs="EPSG:4326", **more):
    write_arrow(
        rows, str(path), driver=driver, geometry_name="wkb", geometry_type=kind, crs=crs, **more
    )
    return str(path)


def features(read):
    return [entry.value for entry in read.entries()]


def same(geometry, shape):
    return shapely.equals(shapely.from_geojson(json.dumps(geometry)), shape)


def refused(path, layer=None):
    with pytest.raises(Faults) as caught:
        read_features(str(path), layer)
    return str(caught.value)


@pytest.mark.parametrize("name", ["zones.gpkg", "zones.fgb"])
def test_a_row_is_a_feature(tmp_path, name):
    path = write(tmp_path / name, table(SQUARE, POINT, **ROWS), DRIVERS[name])
    assert is_geo_file(path)
    read = read_features(path)
    first, second = features(read)
    assert first["properties"] == {"name": "a", "within": "3m", "reach": None}
    assert same(first["geometry"], SQUARE)
    assert second["properties"] == {"name": "ü", "within": None, "reach": 5.5}
    assert second["geometry"] == {"type": "Point", "coordinates": [116.5, 39.5]}
    assert read.crs is None


def test_a_shapefile_is_read_as_it_is_and_packed(tmp_path):
    rows = table(SQUARE, None, name=["a", "b"])
    path = write(tmp_path / "zones.shp", rows, "ESRI Shapefile", "Polygon")
    packed = tmp_path / "zones.shp.zip"
    with zipfile.ZipFile(packed, "w") as archive:
        for part in tmp_path.glob("zones.*"):
            if part != packed:
                archive.write(part, part.name)
    for each in (path, str(packed)):
        read = read_features(each)
        whole, without = features(read)
        assert whole["properties"] == {"name": "a"}
        assert same(whole["geometry"], SQUARE)
        assert without["geometry"] is None
        assert read.crs is None


def test_another_reference_system_is_named(tmp_path):
    for crs, named in (("EPSG:3857", "EPSG:3857"), ("EPSG:32649", "EPSG:32649")):
        path = tmp_path / f"{named[5:]}.gpkg"
        assert read_features(write(path, table(SQUARE), "GPKG", crs=crs)).crs == named


def test_of_several_layers_one_must_be_named(tmp_path):
    path = tmp_path / "zones.gpkg"
    write(path, table(SQUARE, name=["a"]), "GPKG", layer="north")
    write(path, table(POINT, name=["b"]), "GPKG", layer="south", append=True)
    assert "has several layers: north, south" in refused(path)
    assert "has no layer 'east': north, south" in refused(path, "east")
    (south,) = features(read_features(str(path), "south"))
    assert south["properties"] == {"name": "b"}


def test_what_is_no_such_file_is_refused(tmp_path):
    path = tmp_path / "zones.gpkg"
    assert "there is no such file" in refused(path)
    path.write_bytes(b"hello")
    assert "cannot be read" in refused(path)


@pytest.mark.parametrize("damaged", ["zones.gpkg", "zones.fgb", "zones.dbf", "zones.gml"])
def test_a_damaged_file_is_refused_whole(tmp_path, damaged):
    count = 2_000
    name = damaged.replace(".dbf", ".shp")
    rows = table(*[POINT] * count, name=[f"zone {i}" for i in range(count)])
    path = write(tmp_path / name, rows, {**DRIVERS, "zones.gml": "GML"}[name], "Point")
    content = (tmp_path / damaged).read_bytes()
    half = len(content) // 2
    torn = content[:half]
    if damaged.endswith(".gpkg"):  # its length is in its head: only pages are lost
        torn += bytes(16_384) + content[half + 16_384 :]
    (tmp_path / damaged).write_bytes(torn)
    assert "cannot be read" in refused(path)


READING = """
import sys
from fencepost.errors import Faults
from pipelines.files.read.geo_files import read_features
try:
    print([each.value["properties"] for each in read_features(sys.argv[1]).entries()])
except Faults as faults:
    print(faults)
"""


def read_in_a_process_of_its_own(path):
    ran = subprocess.run(
        [sys.executable, "-c", READING, str(path)], check=True, capture_output=True, text=True
    )
    return ran.stdout


def test_a_file_that_refers_to_another_is_refused(tmp_path):
    other = write(tmp_path / "other.gpkg", table(SQUARE, name=["a"]), "GPKG")
    path = tmp_path / "zones.kml"
    layer = f'<OGRVRTLayer name="other"><SrcDataSource>{other}</SrcDataSource></OGRVRTLayer>'
    path.write_text(f"<OGRVRTDataSource>{layer}</OGRVRTDataSource>")
    assert "GDAL's driver OGR_VRT" in refused(path)  # pyogrio was imported before
    assert "zones.kml: cannot be read" in read_in_a_process_of_its_own(path)


def test_a_schema_on_the_network_is_not_fetched(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as server:
        at = f"http://127.0.0.1:{server.getsockname()[1]}"
        schema = f"{at}/wfs?SERVICE=WFS&amp;REQUEST=DescribeFeatureType&amp;TYPENAME=zone"
        point = '<gml:Point srsName="EPSG:4326"><gml:pos>39 116</gml:pos></gml:Point>'
        path = tmp_path / "zones.gml"
        path.write_text(
            '<wfs:FeatureCollection xmlns:wfs="http://www.opengis.net/wfs" '
            'xmlns:gml="http://www.opengis.net/gml" xmlns:z="http://z.example" '
            'xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" '
            f'xsi:schemaLocation="http://z.example {schema}">'
            f'<gml:featureMember><z:zone gml:id="z.1"><z:name>a</z:name><z:geom>{point}</z:geom>'
            "</z:zone></gml:featureMember></wfs:FeatureCollection>"
        )
        assert "'name': 'a'" in read_in_a_process_of_its_own(path)
        server.settimeout(0)
        with pytest.raises(BlockingIOError):  # nobody is waiting
            server.accept()


@pytest.mark.parametrize("name", ["a!zones.gpkg", "zones.gpkg;b.gpkg"])
def test_a_name_that_means_another_file_is_refused(tmp_path, name):
    path = write(tmp_path / "zones.gpkg", table(SQUARE, name=["a"]), "GPKG")
    (tmp_path / name).write_bytes(Path(path).read_bytes())
    assert "would open another file" in refused(tmp_path / name)


@pytest.mark.parametrize("name", ["zip:zones.gpkg", "s3:zones.gpkg"])
def test_a_name_that_looks_like_a_scheme_is_a_name(tmp_path, monkeypatch, name):
    path = write(tmp_path / "zones.gpkg", table(SQUARE, name=["a"]), "GPKG")
    Path(path).rename(tmp_path / name)
    monkeypatch.chdir(tmp_path)
    assert len(features(read_features(name))) == 1


def test_without_its_extra_it_is_said_how_to_get_it(tmp_path):
    with mock.patch.dict(sys.modules, {"pyogrio": None}), pytest.raises(MissingExtra, match="geo"):
        read_features(str(tmp_path / "zones.gpkg"))


def geoparquet(rows, **column):
    geometry = {"encoding": "WKB", **column}
    metadata = {"version": "1.1.0", "primary_column": "wkb", "columns": {"wkb": geometry}}
    return rows.replace_schema_metadata({"geo": json.dumps(metadata)})


def test_geoparquet_is_read_by_its_metadata():
    rows = table(
        SQUARE, None, name=["a", "b"], since=pa.array([0, None], pa.timestamp("us", "UTC"))
    )
    read = FeatureTable.of_geoparquet("zones.parquet", geoparquet(rows))
    assert read is not None
    first, second = features(read)
    assert first["properties"] == {"name": "a", "since": "1970-01-01T00:00:00+00:00"}
    assert same(first["geometry"], SQUARE)
    assert second == {
        "type": "Feature",
        "properties": {"name": "b", "since": None},
        "geometry": None,
    }
    assert FeatureTable.of_geoparquet("rules.parquet", rows) is None


@pytest.mark.parametrize(
    ("crs", "named"),
    [
        (None, None),
        ({"id": {"authority": "OGC", "code": "CRS84"}}, None),
        ({"id": {"authority": "EPSG", "code": 4326}}, None),
        ({"id": {"authority": "EPSG", "code": 3857}}, "EPSG:3857"),
        ({"name": "mine"}, "mine"),
    ],
)
def test_the_reference_system_of_geoparquet_is_named(crs, named):
    read = FeatureTable.of_geoparquet("zones.parquet", geoparquet(table(SQUARE), crs=crs))
    assert read is not None
    assert read.crs == named


@pytest.mark.parametrize(
    ("rows", "why"),
    [
        (table(SQUARE).replace_schema_metadata({"geo": "{"}), "is not GeoParquet's"),
        (table(SQUARE).replace_schema_metadata({"geo": "[]"}), "is not GeoParquet's"),
        (geoparquet(table(SQUARE), encoding="polygon"), "encoded as 'polygon'"),
        (geoparquet(table(SQUARE), edges="spherical"), "its edges are spherical"),
        (geoparquet(table(SQUARE).rename_columns(["g"])), "`wkb` is no column"),
    ],
)
def test_geoparquet_that_cannot_be_meant_is_refused(rows, why):
    with pytest.raises(Faults, match=why):
        FeatureTable.of_geoparquet("zones.parquet", rows)


def test_damaged_bytes_are_the_fault_of_their_row():
    rows = pa.table({"wkb": [shapely.to_wkb(POINT), b"\x01\x02"]})
    good, bad = features(FeatureTable(rows, "wkb", None))
    assert good["geometry"]["type"] == "Point"
    assert "no well-known binary" in bad.message


def test_a_geographic_file_is_known_by_its_name():
    assert is_geo_file("a/ZONES.SHP")
    assert not is_geo_file(str(Path("zones.geojson")))


def test_nanoseconds_are_cut_off_and_a_date_beyond_python_is_a_fault():
    ns = pa.array([1_700_000_000_123_456_789], pa.timestamp("ns", "UTC"))
    (read,) = features(FeatureTable(table(SQUARE, since=ns), "wkb", None))
    assert read["properties"]["since"] == "2023-11-14T22:13:20.123456+00:00"
    far = pa.array([2**62], pa.timestamp("us", "UTC"))
    (fault,) = features(FeatureTable(table(SQUARE, since=far), "wkb", None))
    assert "a value cannot be read" in fault.message
