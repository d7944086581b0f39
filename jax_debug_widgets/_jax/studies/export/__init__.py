"""Write a traced program as Python: a module that computes the same, to be read, edited and run.

Each form is traced again before it is written (`proofs`): a wrong one is never written, a new JAX makes the text less
readable only.
"""
