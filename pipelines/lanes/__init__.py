"""All that differs between the lane of a feed and that of two feeds."""
