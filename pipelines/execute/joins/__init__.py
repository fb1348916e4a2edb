"""Epochs of lanes of joins: the same plan and commit as any, over the deliveries of two feeds."""
