"""The lake and its commands: what reads files, keeps time or prints, and is never in the engine."""
