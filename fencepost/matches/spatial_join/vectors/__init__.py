"""Bytes and words in vectors: what the kernels of the join are made of."""
