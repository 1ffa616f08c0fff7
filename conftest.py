"""Where torch is not installed, examples that need it are skipped, not failed."""

from __future__ import annotations

import importlib.util
from collections.abc import Generator
from typing import Any

import pytest

WITHOUT_TORCH = importlib.util.find_spec("torch") is None


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Generator[None, Any, Any]:
    """Run a test, a doctest or a snippet."""
    try:
        return (yield)
    except Exception as error:
        if WITHOUT_TORCH and _asks_for_torch(error):
            pytest.skip("torch is not installed")
        raise


def _asks_for_torch(error: BaseException) -> bool:
    """Whether what went wrong first, in a doctest or outside, is that torch lacks."""
    for failure in getattr(error, "failures", [error])[:1]:
        _, cause, _ = getattr(failure, "exc_info", (None, failure, None))
        while cause is not None:
            if isinstance(cause, ModuleNotFoundError) and cause.name == "torch":
                return True
            cause = cause.__cause__
    return False
