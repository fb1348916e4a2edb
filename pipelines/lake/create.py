"""How a table comes into being: from its declaration, before its first row.

Law: NOT NULL, constraints and comments hold from the first row on, in any engine that writes. The
tables are plain: no deletion vectors, no column mapping, classic checkpoints, so that every engine
reads them.
"""

import json
import time
import uuid
from collections.abc import Iterable, Sequence

from deltalake import DeltaTable
from deltalake.schema import ArrayType, Field, PrimitiveType, Schema
from deltalake.transaction import AddAction

from fencepost.errors import LakeError
from pipelines.lake import layout
from pipelines.lake.data_files import DataFile
from pipelines.lake.snapshot import READER, WRITER, opened
from pipelines.places import Place, Remote, create, is_remote
from schemas import Column, Table
from schemas.tuples import SEQUENCE

PROPERTIES = {
    "delta.checkpointPolicy": "classic",
    "delta.checkpointInterval": "50",
    "delta.enableDeletionVectors": "false",
    "delta.logRetentionDuration": "interval 30 days",
    "delta.deletedFileRetentionDuration": "interval 7 days",
}


def make_table(folder: Place, table: Table) -> str:
    """Make a table, or finish one that was begun; give its id. On a store one request."""
    if is_remote(folder):
        return _made_on_store(folder, table)
    if DeltaTable.is_deltatable(str(folder)):
        delta = DeltaTable(str(folder))
    else:
        delta = DeltaTable.create(
            str(folder),
            _schema(table),
            mode="error",
            partition_by=list(table.partitioned_by),
            name=table.name,
            description=table.comment,
            configuration=dict(PROPERTIES),
        )
    has = delta.metadata().configuration
    for name, condition in table.checks.items():
        if f"delta.constraints.{name}" not in has:
            delta.alter.add_constraint({name: condition})
    return str(delta.metadata().id)


def _schema(table: Table) -> Schema:
    return Schema([_field(column) for column in table.columns])


def _made_on_store(folder: Remote, table: Table) -> str:
    """Write the first commit of a table: all that delta-rs would need several commits for."""
    table_id, now = str(uuid.uuid4()), time.time_ns() // 1_000_000
    checks = {f"delta.constraints.{name}": check for name, check in table.checks.items()}
    metadata = {
        "id": table_id,
        "name": table.name,
        "description": table.comment,
        "format": {"provider": "parquet", "options": {}},
        "schemaString": _schema(table).to_json(),
        "partitionColumns": list(table.partitioned_by),
        "createdTime": now,
        "configuration": {**PROPERTIES, **checks},
    }
    info = {
        "timestamp": now,
        "operation": "CREATE TABLE",
        "operationParameters": {"mode": "ErrorIfExists"},
        "engineInfo": layout.ENGINE,
    }
    protocol = {"minReaderVersion": READER, "minWriterVersion": WRITER}
    actions = ({"commitInfo": info}, {"protocol": protocol}, {"metaData": metadata})
    try:
        create(layout.commit_path(folder, 0), layout.as_commit(actions))
    except FileExistsError:
        return opened(folder, table).id
    return table_id


def refuse_other(folder: Place, expected: str, found: str) -> None:
    """Refuse a table whose id is not that of the lake's note."""
    if found != expected:
        raise LakeError(
            f"the table '{folder.name}' of the lake {folder.parent} was dropped and created again "
            f"by someone else: its id is {found}, {expected} was "
            "expected. Restore it, or make a new lake with `fencepost init`."
        )


def refuse_other_axes(has: Sequence[str], table: Table) -> None:
    """Refuse a feed whose axes are not those of its table: boxes depend on their order.

    `has` are the table's columns. What stands behind the axes may be missing, or be declared no
    more: `add_columns` puts it last.
    """
    if table.role != "tuples":
        return
    declared = [column.name for column in table.columns]
    of_lake, named = (_axes_among(names) for names in (has, declared))
    if of_lake != named:
        raise LakeError(
            f"the feed '{table.name}' is declared with the axes {named}, and this lake was created "
            f"with {of_lake}. Its queries and tuples are stored by them: restore the declaration, "
            "or declare the feed under another name"
        )


def _axes_among(names: Sequence[str]) -> str:
    return ", ".join(names[names.index("ts") + 1 : names.index("arrival")])


def add_columns(delta: DeltaTable, table: Table) -> None:
    """Add the columns that a table has not yet: of new feeds, of a new format; all nullable."""
    fresh = lacking(delta.schema(), table)
    if not fresh:
        return
    try:
        delta.alter.add_columns([_field(column) for column in fresh])
    except OSError:
        raise
    except Exception as why:  # delta-rs raises a bare Exception if a column's name is damaged
        raise LakeError(
            f"the table '{table.name}' lacks columns and cannot be given them: {why}. Its log is "
            "damaged: restore the table from a copy of the lake"
        ) from why


def lacking(schema: Schema, table: Table) -> list[Column]:
    """List the columns that a table has not yet; refuse what cannot be added."""
    has = {field.name: field.type for field in schema.fields}
    for column in table.columns:
        kind = _field(column).type
        if column.name in has and has[column.name] != kind:
            cure = "name the column otherwise"
            if column.name == SEQUENCE:
                cure = "declare the feed under another name; sequence_is says what the column holds"
            raise LakeError(
                f"the column {column.name} of the table '{table.name}' has the type "
                f"{has[column.name].type}, and is declared as {column.kind}. What the lake holds "
                f"cannot change its type: restore the declaration, or {cure}"
            )
    fresh = [column for column in table.columns if column.name not in has]
    _refuse_other_spellings(table, has, fresh)
    return fresh


def add_action(file: DataFile) -> AddAction:
    """Give a data file as the log describes it."""
    return AddAction(
        path=file.path,
        size=file.size,
        partition_values=dict(file.partition),
        modification_time=int(time.time() * 1000),
        data_change=True,
        stats=file.stats or json.dumps({"numRecords": file.rows}),
    )


def _field(column: Column) -> Field:
    kind = column.kind
    inner = kind.removeprefix("array<").removesuffix(">")
    declared = (
        PrimitiveType(kind)
        if inner == kind
        else ArrayType(PrimitiveType(inner), contains_null=True)
    )
    return Field(
        column.name, declared, nullable=column.nullable, metadata={"comment": column.comment}
    )


def _refuse_other_spellings(table: Table, has: Iterable[str], fresh: Iterable[Column]) -> None:
    """Refuse a column that the table has in another spelling: SQL knows no difference."""
    known = {name.lower(): name for name in has}
    for column in fresh:
        if column.name.lower() in known:
            raise LakeError(
                f"the table '{table.name}' has the column {known[column.name.lower()]}, and "
                f"{column.name} is declared, one name in SQL: spell it as before. A file's column "
                "is found in any spelling"
            )
