"""What the papers of S2 and S3 measured themselves against, built with equal care."""
