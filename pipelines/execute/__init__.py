"""The tasks of an epoch: what each reads, evaluates and writes."""
