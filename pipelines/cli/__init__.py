"""The command line: options, output, and how a command ends."""
