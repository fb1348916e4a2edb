"""The tables of a lake: who writes which file, and how a commit happens exactly once."""
