"""Write a traced program as Python: a module that computes the same, to be read, edited and run.

Each form is traced again before it is written (`proofs`), so a wrong form is never written. A new JAX makes the text less
readable only.
"""
