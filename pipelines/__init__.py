"""The lake and its commands: all that reads files, keeps time or prints, apart from the engine."""
