"""What a user writes, taken apart: rows that must hold for every outcome."""
