"""`fencepost eval` without its command line: files in, results and a summary out."""
