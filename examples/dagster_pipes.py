"""Dagster here, the work there: an op starts `fencepost run` on another machine and waits for it.

Nothing is handed back. What the run has evaluated is in the lake's ledgers, and the sensor `ledger`
reports it to Dagster, partition by partition, once the op has ended. Here the other machine is a
process; PipesEMRClient, PipesDatabricksClient and their kin take its place, as docs/dagster.md
shows. Name this module in a workspace.yaml, in the place of `fencepost.dagster`.
"""

import dagster as dg

from fencepost.dagster import defs as project

COMMAND = ["fencepost", "run", "--json"]


@dg.op(pool="lake")
def run_there(context: dg.OpExecutionContext, there: dg.PipesSubprocessClient) -> None:
    """Start a run, and fail if it fails."""
    there.run(command=COMMAND, context=context)


@dg.job
def run_elsewhere() -> None:
    """What `run_now` does, on another machine."""
    run_there()


defs = dg.Definitions.merge(
    project(),
    dg.Definitions(jobs=[run_elsewhere], resources={"there": dg.PipesSubprocessClient()}),
)
