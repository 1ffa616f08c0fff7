"""Policies in files: arrays and JSON, nothing that runs when it is read."""
