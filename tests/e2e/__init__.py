"""Test in JupyterLab and a real browser, with a shared driver.

`lab.py` starts and stops the server, `browser.py` the browser and its pages, `notebook.py` works in one notebook. A
test takes over the page of the test before, with nothing open in it (`conftest.py`). Each test has a kernel of its own,
except those of `test_source.py`, which work in one notebook. The folder is a package so that the fixtures of
`conftest.py` end with its last test.
"""
