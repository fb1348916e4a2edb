"""The tables, when the lake comes: one file each, with columns, keys, partitioning and checks."""
