"""Choose which named values are watched and when they are taken, and explain why a name is not watched.

In:   the user's options, named values of bodies.
Out:  the computation for each watched value of a body, and its tap.
May know: syntax, naming, statistics.
"""
