"""Joins of two feeds: sliding windows (S3), bands over dynamic sets (S4), nearby positions."""
