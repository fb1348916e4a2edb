"""The rivals: each the best formulation that we know, given the same rows and the same threads."""
