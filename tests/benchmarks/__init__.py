"""Measure what capturing costs: `make bench` prints the tables.

Each figure is a ratio to a peer in the same run.
"""
