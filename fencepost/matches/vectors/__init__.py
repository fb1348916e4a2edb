"""What a loop does not become by itself: tests of sixteen or sixty-four at once, told as bits."""
