"""Levels at which decisions, not outcomes, keep their word."""
