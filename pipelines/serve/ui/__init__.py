"""`fencepost ui`: Dagster's web server and the reports beside it."""
