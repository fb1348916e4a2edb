"""Joins of two feeds: sliding windows (S3) and bands over dynamic sets (S4)."""
