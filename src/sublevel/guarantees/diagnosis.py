"""What held-out residuals say about the assertions of Theorem A.

Evidence against an assertion, never proof of one: residuals can refute independence,
kappa = 1, the lack of a bias or a total loss that is the same at every context, but a
bias on contexts too rare to be in the sample stays unseen.
"""

from dataclasses import dataclass, field
from math import inf
from typing import Any

import numpy as np
from scipy.special import ndtri

from ..checks import Array, as_matrix, require_level
from ..errors import InvalidParameter
from .context_checks import (
    MOST_PAIRS,
    encode_contexts,
    look_at_bias_given,
    look_at_correlation_given,
    look_at_total,
)
from .residual_checks import (
    look_at_bias,
    look_at_correlation,
    look_at_skewness,
    look_at_tails,
)

#: The fewest rows in which chance and evidence can be told apart.
FEWEST = 20

#: The numbers of a Diagnosis, in its order.
NUMBERS = (
    "bias",
    "skewness",
    "excess_kurtosis",
    "correlation",
    "bias_given",
    "correlation_given",
    "r_squared",
)


@dataclass(frozen=True)
class Diagnosis:
    """Numbers that would be zero, or below it, under the assertions.

    The last three are None without contexts; they are out of fold, and each is that of
    the component, or pair, it is least likely to be chance in.

    Parameters
    ----------
    bias : float
        Mean over standard deviation, the largest in absolute value over components.
    skewness : float
        Of the component that is least likely to be symmetric.
    excess_kurtosis : float
        The largest over components; at most 0 if strictly sub-Gaussian.
    correlation : float
        Of the pair of components it shows most in; 0 for one component.
    bias_given : float or None
        R^2: how much of the residuals the contexts predict.
    correlation_given : float or None
        R^2: how much of products of two components' residuals (as normal scores) the
        contexts predict; 0 for one component.
    r_squared : float or None
        How much of the total loss, on a logarithmic scale, the contexts predict.
    evidence : tuple of str
        What is more than chance, and what it speaks against.
    surprises : tuple of float
        The numbers above, in their order, in standard errors from zero.
    limit : float
        Standard errors from which on a number is more than chance.

    Examples
    --------
    >>> import numpy as np
    >>> from sublevel.guarantees import diagnose
    >>> coins = np.random.default_rng(0).random((500, 2)) < 0.1
    >>> found = diagnose(coins - 0.1)
    >>> round(found.skewness, 1), len(found.evidence)
    (2.7, 2)
    """

    bias: float
    skewness: float
    excess_kurtosis: float
    correlation: float
    bias_given: float | None
    correlation_given: float | None
    r_squared: float | None
    evidence: tuple[str, ...]
    surprises: tuple[float, ...] = field(default=(), compare=False)
    limit: float = field(default=inf, compare=False)


def diagnose(residuals: Any, X: Any = None, delta: float = 0.001) -> Diagnosis:
    """Look for evidence against the assertions of Theorem A.

    Parameters
    ----------
    residuals : array of shape (N, m), at least 20 rows
        Outcome minus prediction, in units of the predicted spread, on data the model
        has not seen.
    X : array of shape (N, p), optional
        Their contexts: numbers, or categories.
    delta : float
        Chance of false evidence, about, if residuals are normal, without bias,
        independent of each other and of the contexts; less if their tails are lighter.

    Examples
    --------
    >>> import numpy as np
    >>> from sublevel.guarantees import diagnose
    >>> rng = np.random.default_rng(0)
    >>> X = rng.random((1000, 1))
    >>> biased = rng.normal(size=(1000, 3)) + 2 * (X > 0.9)
    >>> for sentence in diagnose(biased, X).evidence[-1:]:
    ...     print(sentence)
    Contexts predict the total loss (R^2 = 0.35): it is not the same at every context.
    """
    require_level("diagnose", delta=delta)
    errors = as_matrix("diagnose", "residuals", residuals)
    if len(errors) < FEWEST:
        raise InvalidParameter(
            f"diagnose(residuals=...) must have at least {FEWEST} rows, got "
            f"{len(errors)}."
        )
    limit = float(-ndtri(delta / _tests(errors.shape[1], X is not None)))
    looks = (look_at_bias, look_at_skewness, look_at_tails, look_at_correlation)
    facts = [look(errors) for look in looks]
    if X is not None:
        contexts = _as_contexts(X, len(errors))
        given = (look_at_bias_given, look_at_correlation_given, look_at_total)
        facts += [look(errors, contexts) for look in given]
    values: dict[str, Any] = dict.fromkeys(NUMBERS)
    values |= {name: f.value for name, f in zip(NUMBERS, facts, strict=False)}
    return Diagnosis(
        **values,
        evidence=tuple(f.sentence.format(f.value) for f in facts if f.surprise > limit),
        surprises=tuple(fact.surprise for fact in facts),
        limit=limit,
    )


def _tests(width: int, given: bool) -> int:
    """How many one-sided tests share delta."""
    pairs = width * (width - 1) // 2
    # Bias, skewness and correlation have two sides, kurtosis has one.
    alone = 2 * width + 2 * width + width + 2 * pairs
    return alone + given * (width + min(pairs, MOST_PAIRS) + 1)


def _as_contexts(X: Any, size: int) -> Array:
    contexts = encode_contexts(X, size)
    if contexts is None:
        raise InvalidParameter(
            f"diagnose(X=...) must have one row for each of the {size} residuals, and "
            f"columns, got {type(X).__name__} of shape {np.shape(X)}."
        )
    return contexts
