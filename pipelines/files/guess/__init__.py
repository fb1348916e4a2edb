"""How would the feed of this file be declared? A sample of its rows in, a draft out.

`sample.py` reads a little of a file, `grid.py` finds its records and columns, `times.py` which
columns are times and how they are written, `roles.py` what each column is for; `draft.py` puts
it together. Nothing here writes, and nothing here knows fencepost.toml but the names of its keys.

Law: a draft depends on the sample and the hints alone. What the sample cannot show (a time zone,
day or month first, whose values a file holds that names no stream) is a question, never a guess.
"""
