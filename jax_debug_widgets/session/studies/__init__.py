"""Answer questions about a program outside the user's runs: inventory, cost, verification, graph, comparison, export.

In:   a function and its arguments.
Out:  tables, graphs and other answers.
May know: session/run.   Must not know: the panel.
"""
