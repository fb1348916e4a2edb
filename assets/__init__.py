"""The Dagster shell, when it comes: assets, checks and partitions, a few lines each."""
