"""The paper's experiments as data: what is drawn, what is varied, how often."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import product

from sublevel.errors import InvalidParameter
from sublevel.guarantees import Marginal

ALPHAS = (0.1, 0.05, 0.01)
#: Seeds that are trained side by side; a cell is one setting and one such block.
BLOCK = 5


@dataclass(frozen=True)
class Setting:
    """One column of the paper's tables.

    Attributes
    ----------
    problem : "newsvendor", "portfolio" or "shortest-path"
    noise : the paper's epsilon bar
    size : number of training rows
    degree : of the shortest path's costs; 0 elsewhere
    """

    problem: str
    noise: float
    size: int
    degree: int = 0

    @property
    def name(self) -> str:
        """A name for files and tables."""
        degree = f"-degree-{self.degree}" if self.degree else ""
        return f"{self.problem}-n-{self.size}{degree}-noise-{self.noise:g}"

    @property
    def weight(self) -> float:
        """How long it takes, in the time of a newsvendor: measured once, roughly."""
        if self.problem == "newsvendor":
            return 1.0
        return 6 + self.size / 3500 if self.problem == "portfolio" else 14.0

    @property
    def label(self) -> str:
        """The setting as a reader sees it."""
        if self.degree:
            return f"degree {self.degree}, noise {self.noise:g}"
        if self.problem == "portfolio":
            return f"N = {self.size}, noise {self.noise:g}"
        return f"noise {self.noise:g}"


@dataclass(frozen=True)
class Experiment:
    """A problem of the paper and everything it was run on.

    Attributes
    ----------
    components : assets or edges; 1 for the newsvendor's demand
    test : test instances of the paper
    samples : calibration samples of the extent's size that are put together; at level
        0.01 a radius rests on the few worst instances of all
    """

    problem: str
    title: str
    sizes: tuple[int, ...]
    noises: tuple[float, ...]
    degrees: tuple[int, ...]
    components: int
    test: int
    samples: int

    @property
    def settings(self) -> tuple[Setting, ...]:
        """The grid, in the order of the paper's tables."""
        grid = product(self.sizes, self.degrees, self.noises)
        return tuple(
            Setting(self.problem, noise, size, degree) for size, degree, noise in grid
        )


EXPERIMENTS = {
    one.problem: one
    for one in (
        Experiment(
            "newsvendor",
            "Newsvendor",
            (2000,),
            (0.0, 0.1, 0.2, 0.5, 1.0),
            (0,),
            1,
            10_000,
            2,
        ),
        Experiment(
            "portfolio",
            "Portfolio",
            (1000, 5000, 10_000),
            (0.0, 0.1, 1.0),
            (0,),
            5,
            100,
            2,
        ),
        # The table's header has noise .1/.2/.3, the text and the figures .1/.3/.5.
        Experiment(
            "shortest-path",
            "Shortest path",
            (5000,),
            (0.1, 0.2, 0.3, 0.5),
            (1, 2, 4),
            40,
            100,
            1,
        ),
    )
}


@dataclass(frozen=True)
class Extent:
    """How much is run.

    Attributes
    ----------
    name : "quick" or "full"
    seeds : repetitions of every setting
    calibration : fresh instances for the proved and the decision-aware radii, for
        each of the experiment's samples
    population : fresh instances on which objective, regret and violation are measured
    root : seed of everything
    """

    name: str
    seeds: int
    calibration: int = 300
    population: int = 20_000
    root: int = 0

    def __post_init__(self) -> None:
        least = Marginal().minimum_sample_size(min(ALPHAS))
        if self.calibration < least:
            raise InvalidParameter(
                f"Extent(calibration=...) must be at least {least}, without which no "
                f"finite set keeps the level {min(ALPHAS)}, got {self.calibration}."
            )


EXTENTS = {"quick": Extent("quick", 3, population=4000), "full": Extent("full", 20)}


@dataclass(frozen=True)
class Cell:
    """A unit of work: a setting, and seeds that are run together."""

    setting: Setting
    seeds: tuple[int, ...]
    extent: Extent = field(default=EXTENTS["full"])

    @property
    def name(self) -> str:
        """A name for its file."""
        return f"{self.setting.name}-seeds-{self.seeds[0]}-{self.seeds[-1]}"


def calibration_size(problem: str, extent: Extent) -> int:
    """Fresh instances that a problem is calibrated on.

    Examples
    --------
    >>> [calibration_size(problem, EXTENTS["full"]) for problem in EXPERIMENTS]
    [600, 600, 300]
    """
    return EXPERIMENTS[problem].samples * extent.calibration


def problems_of(asked: str) -> tuple[str, ...]:
    """The problems that a word on the command line stands for.

    Examples
    --------
    >>> problems_of("all")
    ('newsvendor', 'portfolio', 'shortest-path')
    """
    if asked == "all":
        return tuple(EXPERIMENTS)
    if asked not in EXPERIMENTS:
        raise InvalidParameter(
            f"reproduce(problem=...) must be one of {', '.join(EXPERIMENTS)} or all, "
            f"got {asked!r}."
        )
    return (asked,)


def cells_of(problems: tuple[str, ...], extent: Extent) -> Iterator[Cell]:
    """All the work, problem by problem."""
    starts = range(0, extent.seeds, BLOCK)
    for problem in problems:
        for setting in EXPERIMENTS[problem].settings:
            for start in starts:
                seeds = tuple(range(start, min(start + BLOCK, extent.seeds)))
                yield Cell(setting, seeds, extent)
