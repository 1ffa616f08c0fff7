"""Decisions, and what is recomputed of them with the sets' own oracles."""
