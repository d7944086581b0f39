"""Rewrite a statement of the user's so that JAX can trace it. Each function is pure: syntax tree and values in, lines out.

A function answers None where no rewrite is certain to mean the same. It never guesses.
"""
