"""Choose which named values are watched, when they are taken, and say why a name is not watched.

In:   what a person asks for, named values of bodies.
Out:  what a body computes for each watched value, and the tap that it is handed to.
May know: syntax, naming, statistics.
"""
