"""Answer questions about a program without a run of the user's: inventory, cost, verification.

In:   a function and its arguments.
Out:  tables.
May know: session/run.   Must not know: the panel.
"""
