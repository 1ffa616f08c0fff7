"""Contexts of one cone program solved together, in compiled code."""
