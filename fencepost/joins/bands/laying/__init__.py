"""Keys of pairs, laid out as columns."""
