"""The fault matrix: what may go wrong with a lake, and what Fencepost guarantees then.

Tests name the rows that they prove: `@pytest.mark.fault(13, 14)`. docs/reliability.md is made from
this page and from those marks (`make docs`). A row without a test says why there is none.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Row:
    """One fault.

    promise  what holds when it happens
    limit    why no test proves it, or what the tests leave out
    """

    number: int
    fault: str
    promise: str
    limit: str = ""


NOT_YET = "Not tested yet."

SECTIONS: dict[str, tuple[Row, ...]] = {
    "Killed in the middle": (
        Row(
            1,
            "kill -9 before the plan of an epoch is written",
            "Nothing has happened. The next run plans the same input.",
        ),
        Row(
            2,
            "kill -9 after the plan, before the first rows",
            "That plan is carried out unchanged, even if more has landed since.",
        ),
        Row(
            3,
            "kill -9 while a data file is being written",
            "No commit names the file, so nobody sees it. `maintain` deletes it. Each event is "
            "there once.",
        ),
        Row(
            4,
            "kill -9 after events are committed, before transitions",
            "The commit of the events is recognised by its row hash. The rest is written.",
        ),
        Row(
            5,
            "kill -9 between any two other commits of an epoch",
            "As above for each table, in the declared order; `done` comes last, and views show "
            "only what is done.",
        ),
        Row(
            6,
            "kill -9 after an epoch is done, before Dagster records success",
            "The repeated run changes no row and says so.",
        ),
        Row(
            7,
            "killed again during recovery, once or several times",
            "Recovery can be killed like any run, and ends with the same rows.",
        ),
        Row(
            8,
            "the JVM is killed, Python lives",
            "The run fails with a message and frees the lock. The next one starts a new JVM and "
            "finishes.",
        ),
        Row(
            9,
            "a Python worker of Spark dies in a task",
            "Spark repeats the task. After three deaths the run fails without a partial commit; a "
            "delivery that kills its reader each time is refused and the others continue.",
        ),
        Row(
            10,
            "a suspended run wakes up after another took over",
            "Each commit names the version that it makes, so the late one fails or finds its rows "
            "committed. No row comes twice.",
        ),
        Row(
            11,
            "a commit succeeded, but the caller saw an error",
            "The log is read again. The commit is recognised, and nothing is deleted.",
        ),
        Row(
            12,
            "re-evaluation gives other rows",
            "The row hashes differ: the run stops, names both counts, and writes nothing.",
        ),
    ),
    "The disk": (
        Row(
            13,
            "the last commit is an empty file",
            "Refused at start, with the file and what to do. Never read as an empty commit.",
        ),
        Row(
            14,
            "the last commit is torn or garbage",
            "Refused at start, with table and version. Once it is moved away, its rows are written "
            "again.",
        ),
        Row(
            15,
            "`_last_checkpoint` or a checkpoint is damaged or missing",
            "The whole log is read instead, or the table is refused. Never other rows.",
        ),
        Row(
            16,
            "a data file is deleted, cut off, or a bit in it flips",
            "The file and its table are named. Never wrong rows.",
        ),
        Row(
            17,
            "the disk is full",
            "The run fails and names the file; readers see the version before. With room, the "
            "next run finishes.",
            NOT_YET,
        ),
        Row(
            18,
            "a system call fails (ENOSPC, EIO, EINTR, a short write), any of them",
            "A commit is made or not. After the next run all tables are as if nothing had failed.",
            NOT_YET,
        ),
        Row(
            19,
            "the lake cannot be written to, or belongs to someone else",
            "Refused before any input is read.",
        ),
    ),
    "Several at once": (
        Row(
            20,
            "two runs start for the same partition at the same time",
            "One works. The other waits and finds nothing to do, or gives up with exit code 3.",
        ),
        Row(
            21,
            "two processes commit to one table without a lock",
            "Each commit is made once, at a version of its own. The lock is not needed for that.",
        ),
        Row(
            22,
            "a stale lock: its holder died, its process id is in use again, or is of another host",
            "The kernel frees the lock with the process. Files beside it only inform people.",
        ),
        Row(
            23,
            "maintenance runs while an epoch is evaluated",
            "It waits for the lock. Without it no row is doubled or lost.",
        ),
        Row(
            24,
            "a rule is registered while an epoch is evaluated",
            "The epoch keeps the registry of its plan. The rule applies to later deliveries.",
        ),
        Row(
            25,
            "a backfill beside live work",
            "Both take the lake in turns and give the rows of a live run.",
        ),
        Row(
            26,
            "Dagster repeats, loses or restarts runs of a backfill",
            "The ledger decides what is done. A partition run twice changes nothing, one that was "
            "skipped is evaluated first, and the check `nothing_is_stale` names it.",
        ),
    ),
    "A past that changes": (
        Row(
            27,
            "the ledger of epochs is lost, the tables are kept",
            "Refused: nothing is evaluated twice into tables that already have the rows.",
        ),
        Row(
            28,
            "a plan is made again under an old identity",
            "The plan's random id identifies its commits, never a number that starts again.",
        ),
        Row(
            29,
            "a transaction id left over in Spark's session",
            "Spark never commits, and no commit carries a transaction id.",
            NOT_YET,
        ),
        Row(
            30,
            "a table is restored to an older version, dropped or recreated",
            "Refused, by the table's id or by the commit that restored it.",
        ),
        Row(
            31,
            "an upgrade in mid-stream",
            "An older lake is upgraded and continues, with the rows of an uninterrupted one.",
        ),
    ),
    "Tuples": (
        Row(
            32,
            "the same tuple again: in a delivery, later, after a restart",
            "Evaluated once, counted as `duplicate` if the feed orders its tuples so.",
        ),
        Row(
            33,
            "the same stream and time with another value",
            "The first one is kept, the other quarantined as `conflict`.",
        ),
        Row(34, "out of order within the allowed lateness", "Waits, and is evaluated in order."),
        Row(35, "later than allowed", "Quarantined as `late`. No event changes."),
        Row(
            36,
            "one tuple hours or years ahead",
            "Quarantined as `future`. The watermark does not move, later tuples are unaffected.",
        ),
        Row(
            37,
            "times that are null, negative, out of range or in the wrong unit",
            "Quarantined as `malformed`, with an explanation.",
        ),
        Row(
            38,
            "NaN, infinities, -0.0, denormals, 1e308",
            "NaN and infinities are quarantined. -0.0 is 0.0. Finite doubles are compared exactly.",
        ),
        Row(
            39,
            "integers beyond 2⁵³, decimals",
            "Exact or refused. Never silently rounded across a border.",
        ),
        Row(
            40,
            "values on a border, empty, equal and identical ranges, no rule, one rule",
            "lo ≤ v < hi, everywhere. An empty range is refused at registration.",
        ),
        Row(41, "a range jumped over in one step", "No event."),
        Row(
            42,
            "entering by a corner or an edge, several axes in one step",
            "One event, the one that brute force finds.",
        ),
    ),
    "Rules, ids and files": (
        Row(
            43,
            "a rule is registered while streams are inside, removed, or its id used again",
            "No entry for streams already inside, no exit on removal; a new version starts afresh.",
        ),
        Row(
            44,
            "hostile ids: empty, a megabyte, NUL, lone surrogates, twins in Unicode or case",
            "Kept verbatim or quarantined. Never merged.",
        ),
        Row(
            45,
            "malformed CSV or JSON, BOM, cut-off gzip, mixed encodings",
            "The row is quarantined with its raw bytes, line and reason. The rest is loaded.",
        ),
        Row(
            46,
            "columns added, missing, renamed, retyped, reordered",
            "Additional ones are ignored and reported. Others refuse the file, not the feed.",
        ),
        Row(
            47,
            "a file that kills its reader every time",
            "Isolated and refused whole. Other files are loaded.",
        ),
    ),
    "Load and time": (
        Row(
            48,
            "one stream has 90% of the rows",
            "The time stays within twice that of evenly spread rows.",
            "Memory is not measured.",
        ),
        Row(49, "one tuple crosses a million borders", "A million events, in bounded memory."),
        Row(
            50,
            "empty deliveries, empty partitions, nothing but quarantine",
            "The lake moves on, and every row is accounted for.",
        ),
        Row(
            51,
            "silence, while stays and departures are due",
            "Only the watermark decides them, never the wall clock.",
        ),
        Row(
            52,
            "a time-out and its answer in one delivery, exactly at t, t = 0",
            "At t is within t. The answer comes before the watermark. Any grouping agrees.",
        ),
        Row(
            53,
            "the clock is wrong by hours, jumps, or runs backwards",
            "Events, transitions and state are the same. Only columns that say when differ.",
        ),
        Row(
            54,
            "another time zone, a clock change, a session zone that is not UTC",
            "The same rows.",
        ),
        Row(55, "another locale, hash seed, number of threads, no AVX-512", "The same rows."),
        Row(
            56,
            "memory runs out, in a worker or in the driver",
            "Nothing is committed in part. The next run finishes, with more memory or smaller "
            "groups.",
            "The test starves a run without Spark. Native code may stand still instead of ending: "
            "then it has to be killed.",
        ),
        Row(
            57,
            "a cached index or query set is missing, torn, wrong or outdated",
            "Rebuilt from the registry. Its fingerprint is checked when it is opened.",
        ),
        Row(
            58,
            "10,000 epochs",
            "Time per epoch, files, log, memory and open files stay bounded.",
        ),
        Row(
            59,
            "a source or reader falls weeks behind and files were vacuumed",
            "An error, never missing rows.",
        ),
    ),
    "Hostile input": (
        Row(
            60,
            "SQL in ids, names and predicates",
            "Ids are data. Predicates are parsed by a small grammar, and nothing else is executed.",
        ),
        Row(
            61,
            "`..`, `/`, `%2e`, links and NUL in names and keys",
            "Names are checked against a pattern. No path leaves its folder.",
        ),
        Row(62, "pickles in data", "None is ever loaded from the lake or from input."),
        Row(
            63,
            "hostile Parquet",
            "A fault of the file, in bounded memory. No extension type is loaded.",
        ),
        Row(
            64,
            "decompression bombs, 100,000 columns, strings of gigabytes",
            "Refused or quarantined, in bounded memory.",
            NOT_YET,
        ),
        Row(
            65,
            "Dagster's UI is reachable",
            "Loopback only, unless two options say otherwise. Runs accept no paths, SQL or code.",
        ),
        Row(
            66,
            "Spark's UI, py4j or its ports are reachable",
            "The UI is off, everything is bound to loopback, and py4j asks for its token.",
        ),
        Row(
            67,
            "secrets in configuration, logs, metadata, tracebacks",
            "What the environment holds appears in no table, log or page.",
        ),
        Row(68, "terminal and CSV injection by ids", "Printed escaped, and quoted where exported."),
        Row(
            69,
            "too many rules, terms or levels",
            "Refused, naming the limit. The registry is unchanged.",
        ),
        Row(
            70,
            "a lake that everyone may write to, links in the place of logs",
            "Refused, or a warning at start.",
            NOT_YET,
        ),
        Row(
            71,
            "a dependency is swapped",
            "Packages are pinned by hash, jars by checksum. One that differs is not installed.",
            "There is no separate SBOM: requirements.lock and the list of jars name every "
            "package, version and hash.",
        ),
        Row(
            72,
            "our own code is broken on purpose",
            "The tests notice: 95 of 100 mutants of the kernels, and every broken protocol.",
        ),
    ),
}

ROWS = {row.number: row for rows in SECTIONS.values() for row in rows}
