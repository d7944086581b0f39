"""Tell the panel what runs do, and answer its requests.

In:   runs; requests of the browser.
Out:  batches, snapshots, lists of runs, files.
May know: session/run.   Must not know: the session itself, but through the callables that it is given.
"""
