"""Decide for any number of contexts, here, on workers, or from a file."""
