"""Keep one run: its events, calls, sites, findings, watched values, and what can be asked of them.

In:   firings and executions, in the order in which they are collected.
Out:  `Run` and its tables, series and reports.
May know: store, taps, watch, plots.   Must not know: the session and the panel.
"""
