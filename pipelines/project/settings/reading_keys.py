"""The keys that say how a feed's files are to be read: their times, their columns, their form."""

from typing import Any

from pipelines.project.settings.declaration import defaulted, optional
from pipelines.project.settings.section import Key
from pipelines.project.settings.values import (
    CHARACTER,
    DAY,
    FLAG,
    NAMES,
    TEXT,
    TIME_FORMAT,
    one_of,
    regex_with,
    whole,
)

DECIMALS = (".", ",")
ENCODINGS = ("utf-8", "latin-1")

TS_FORMAT = optional(
    "ts_format",
    TIME_FORMAT,
    "",
    "The form of times that are not ISO 8601, in the codes of strptime: %Y %y %m %b %B %d %H %I %p "
    "%M %S %f %z %a %A. Of two columns, date and time with a blank between.",
    example='"%d/%m/%Y %H:%M"',
)
DATE = optional(
    "date",
    DAY,
    "",
    "The day of every tuple, in `timezone`: the time column then has times of day, or with "
    "`ts_unit` counts since midnight.",
    example='"2013-10-07"',
)
DATE_FROM_PATH = optional(
    "date_from_path",
    regex_with("date"),
    "",
    "As `date`, found in the path of each file by a regular expression whose group `date` matches "
    "a day like 2013-10-07 or 20131007. In a zip the path goes on with that of the file in it.",
    example='"(?P<date>[0-9]{8})_.*"',
)
COLUMNS = optional(
    "columns",
    NAMES,
    "",
    "The names of all columns, in order, for CSV files without a header.",
    example='["stream_id", "ts", "price"]',
)
SKIP_LINES = defaulted(
    "skip_lines",
    whole(0, 1000),
    "0",
    "",
    "How many lines of a text file are passed over before its header, or its first row.",
    example="6",
)
DELIMITER = optional(
    "delimiter",
    CHARACTER,
    "",
    "What parts the fields of a CSV file, one character. Default: the one of `,` `;` tab and `|` "
    "that its first lines agree on.",
    example='";"',
)
DECIMAL = defaulted(
    "decimal",
    one_of(DECIMALS),
    '"."',
    "",
    "What stands before the decimals of a number in CSV.",
    example='","',
)
ENCODING = defaulted(
    "encoding",
    one_of(ENCODINGS),
    '"utf-8"',
    "",
    "How the letters of text files are encoded; a byte order mark is passed over.",
    example='"latin-1"',
)
STREAM = optional(
    "stream",
    TEXT,
    "",
    "The stream of every tuple, for files of one stream.",
    example='"SPY"',
)
STREAM_FROM_PATH = optional(
    "stream_from_path",
    regex_with("stream"),
    "",
    "The stream of every tuple of a file, found in its path by a regular expression with a group "
    "`stream`.",
    example='"(?P<stream>[a-z]+)_Trade"',
)
WIDE = defaulted(
    "wide",
    FLAG,
    "false",
    "",
    "Whether each column that no other key names is a stream, with the only axis as its cells. An "
    "empty cell is no row; rows are numbered through line by line, column by column.",
    example="true",
)

OF_READING: tuple[Key[Any], ...] = (
    *(TS_FORMAT, DATE, DATE_FROM_PATH),
    *(COLUMNS, SKIP_LINES, DELIMITER, DECIMAL, ENCODING),
    *(STREAM, STREAM_FROM_PATH, WIDE),
)
