"""One cone program for every context: only slots are refreshed."""

from .chunk_solver import Clarabel, Solutions

__all__ = ["Clarabel", "Solutions"]
