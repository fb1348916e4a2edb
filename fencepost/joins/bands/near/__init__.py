"""Which groups need a look at all."""
