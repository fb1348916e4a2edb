"""A file of standing queries, opened: JSON lines, Parquet, or the features of a map."""

from fencepost.queries.files import QueryFile
from fencepost.queries.geojson_fields import PLAIN, FeatureFields
from pipelines.files.read.content import PARQUET
from pipelines.files.read.geo_files import is_geo_file, read_features
from pipelines.files.read.packed import whole


def open_queries(source: str, fields: FeatureFields = PLAIN, layer: str | None = None) -> QueryFile:
    """Read all of a file; what its queries say is for fencepost.queries.files to find.

    `fields` say how the properties of features become queries; `layer` names one of a file that
    has several.
    """
    if is_geo_file(source):
        return QueryFile(source, b"", None, read_features(source, layer), fields)
    content = whole(source)
    if not content.startswith(PARQUET):
        return QueryFile.of_text(source, content, fields)
    from pipelines.files.read.parquet_rows import read_whole

    return QueryFile.of_table(source, read_whole(source, content), fields)
