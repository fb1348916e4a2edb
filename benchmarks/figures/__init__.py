"""The papers' figures, measured here: `make figures`."""
