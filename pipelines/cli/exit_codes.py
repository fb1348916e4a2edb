"""The exit codes: what they are, and what each one means."""

from enum import IntEnum


class Code(IntEnum):
    """The exit codes."""

    WELL = 0
    FAILED = 1
    REFUSED = 2
    LOCKED = 3
    UNANSWERED = 4
    STORAGE = 5
    UNAVAILABLE = 6
    INTERRUPTED = 130
    NOBODY_READS = 141
    TERMINATED = 143


MEANING = {
    Code.WELL: "Success.",
    Code.FAILED: "A check failed (check, doctor), or Fencepost has a bug.",
    Code.REFUSED: "Error in input, options, lake or machine: the message names it.",
    Code.LOCKED: "Another process is writing to the lake: try again.",
    Code.UNANSWERED: "Done, but data is missing: a delivery was refused and is unanswered (see "
    "`fencepost status`), or `eval` rejected every row of a file.",
    Code.STORAGE: "A disk is full, failing or read-only: fix it, then try again.",
    Code.UNAVAILABLE: "An object store kept failing through a minute of retries: try again.",
    Code.INTERRUPTED: "Interrupted by Ctrl-C.",
    Code.NOBODY_READS: "Output pipe closed, as by `| head`.",
    Code.TERMINATED: "Terminated by SIGTERM.",
}
"""The one table of exit codes; `fencepost --help` prints it."""
