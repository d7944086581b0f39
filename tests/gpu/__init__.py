"""`python -m tests.gpu`: the tests that one GPU can run, and what watching costs there, with a report."""
