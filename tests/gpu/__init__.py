"""Run the tests that one GPU can run, measure the cost of watching there, and write a report: `python -m tests.gpu`."""
