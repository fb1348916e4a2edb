"""The papers' indexes, proved and kept as rivals; `auto` does not choose them."""
