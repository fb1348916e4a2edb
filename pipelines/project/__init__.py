"""What a project is: fencepost.toml, and the files that `init` writes."""
