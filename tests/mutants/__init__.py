"""Mutation testing: `python -m tests.mutants` changes the source in one place at a time and runs the tests."""
