"""Keep one run, and answer questions about it: its events, calls, sites, findings and watched values.

In:   firings and executions, in the order in which they are collected.
Out:  `Run` and its tables, series and reports.
May know: store, taps, watch, plots.   Must not know: the session and the panel.
"""
