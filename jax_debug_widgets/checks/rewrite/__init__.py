"""Rewrite a statement of the user so that JAX can trace it.

Each function is pure: it takes a syntax tree and values, and returns text. A function that rewrites a statement returns
None if it is not certain that a rewrite means the same; it never guesses.
"""
