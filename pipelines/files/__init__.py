"""Table files of users: CSV, JSON lines and Parquet, read and written."""
