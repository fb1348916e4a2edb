"""Rows of 512 bits, written out in LLVM's own terms for the kernels of bitmaps."""
