"""What has to be installed, asked before the work begins, not after."""

from __future__ import annotations

from importlib.util import find_spec

from sublevel.errors import MissingExtra


def require_packages(problems: tuple[str, ...]) -> None:
    """Raise if the problems or their report need a package that is not there.

    Examples
    --------
    >>> require_packages(("newsvendor",))
    """
    # SPO+ is trained with torch; the newsvendor has no cost vector to train it on.
    wanted = {"jinja2": "report"}
    if any(problem != "newsvendor" for problem in problems):
        wanted["torch"] = "torch"
    missing = [package for package in wanted if find_spec(package) is None]
    if missing:
        extras = ",".join(wanted[package] for package in missing)
        raise MissingExtra(
            f"The experiments need {' and '.join(missing)}, not installed here. "
            f"Install with `pip install 'sublevel[{extras}]'` and run this again."
        )
