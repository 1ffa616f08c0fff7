"""Cutting planes: outcomes join one at a time."""
