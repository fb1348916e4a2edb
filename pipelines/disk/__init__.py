"""What the disk does and refuses to do, below everything that writes."""
