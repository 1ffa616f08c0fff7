"""From rows to decisions: conic duals compiled once, or cutting planes."""
