"""Tests in JupyterLab and a real browser, and the driver that they share.

`lab.py` starts and stops the server, `browser.py` the browser and its pages, `notebook.py` works in one notebook.
A test takes over the page of the one before, with nothing open in it (`conftest.py`); each has a kernel of its own, but for
those of `test_source.py`, which work in one notebook.
The folder is a package so that the fixtures of `conftest.py` end with its last test.
"""
