"""The Dagster shell: assets, checks, partitions, jobs and sensors, a few lines each.

`definitions.py` puts them together for one project, `graph.py` declares what is in the graph,
`feeds.py`, `registry.py` and `marts.py` make it, `metadata.py` says what the ledgers know in
Dagster's terms, `checks.py` asserts it, `jobs.py` and `automation.py` set it going.

Law: nothing is decided here. The pipelines do the work, and their ledgers say what is done.
"""
