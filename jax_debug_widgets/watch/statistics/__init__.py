"""Compute the statistics of a watched value: mean, range, norm, NaN count, histogram, the value itself.

In:   arrays on the device.
Out:  rows of numbers, by XLA or in one pass by native code on a CPU.
May know: events.   Must not know: names and choices.
"""
