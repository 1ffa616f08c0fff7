"""Cutting planes: masters, scenarios and the loop between them."""
