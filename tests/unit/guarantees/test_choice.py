"""Guarantees by name."""

import numpy as np
import pytest

from sublevel.errors import InvalidParameter
from sublevel.guarantees import PAC, CVPlus, Marginal, Mondrian, Weighted, get


def test_names_and_objects():
    assert get("marginal") == Marginal()
    assert get("pac") == PAC()
    chosen = PAC(delta=0.01)
    assert get(chosen) is chosen


@pytest.mark.parametrize("wrong", ["exact", None, 0.1, float])
def test_anything_else_is_refused_with_the_choices(wrong):
    with pytest.raises(InvalidParameter, match='must be "marginal" or "pac", or an'):
        get(wrong)


@pytest.mark.parametrize(
    "wrong, call",
    [
        (PAC, r"PAC\(\)"),
        (Marginal, r"Marginal\(\)"),
        (CVPlus, r"CVPlus\(\)"),
        (Mondrian, r"Mondrian\(groups=\.\.\.\)"),
        (Weighted, r"Weighted\(density_ratio=\.\.\.\)"),
    ],
)
def test_a_class_is_not_an_object(wrong, call):
    name = wrong.__name__
    with pytest.raises(InvalidParameter, match=f"got the class {name}. Say {call}"):
        get(wrong)


def test_a_class_of_ones_own_is_not_an_object():
    class Own:
        def calibrate(self, scores, alpha, X=None): ...

    with pytest.raises(InvalidParameter, match=r"got the class Own. Say Own\(\)"):
        get(Own)


def test_an_array_is_not_printed():
    with pytest.raises(InvalidParameter, match=r"got ndarray of shape \(300,\)\.$"):
        get(np.zeros(300))
