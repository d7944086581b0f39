"""Send the news of runs to the panel, and answer its requests.

In:   runs; requests of the browser.
Out:  batches, snapshots, lists of runs, files.
May know: session/run.   Must not know: the session itself; it uses the session through `ports.py` only.
"""
