"""The command line: what is asked, what is printed, how a command ends."""
