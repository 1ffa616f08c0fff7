"""The paper's laboratory: its experiments, the demonstration, and their pages.

A package of its own beside `sublevel`, which does not need it. Facts are collected into
plain data (`experiments`, `demo`), laid out as tables and charts (`paper`, `demo`) and
written by one pipeline (`report`). `commands` is the `sublevel` command.
"""
