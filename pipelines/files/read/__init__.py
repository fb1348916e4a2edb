"""Deliveries from files: CSV, JSON lines or Parquet in, columns and malformed rows out."""
