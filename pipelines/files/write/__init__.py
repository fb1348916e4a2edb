"""Results to files: CSV, JSON lines or Parquet, in a stable order, all of them or none."""
