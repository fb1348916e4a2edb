"""What is to be evaluated next: pure functions over the rows of the ledgers."""
