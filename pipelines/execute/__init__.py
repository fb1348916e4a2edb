"""An epoch's tasks: what each reads, evaluates and writes."""
