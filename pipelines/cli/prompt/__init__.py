"""The prompt of `fencepost sql`: statements typed on a terminal, one after another.

    statements.py   where a statement ends
    suggestions.py  what can be completed at the cursor
    history.py      what was typed before
    execution.py    a statement that Ctrl-C can cancel
    loop.py         the prompt itself, and its commands

Law: the prompt only reads; no error ends it. Each statement sees the lake as it is when it begins.
"""
