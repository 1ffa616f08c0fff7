"""Guarantees by name."""

import pytest

from sublevel.errors import InvalidParameter
from sublevel.guarantees import PAC, Marginal, get


def test_names_and_objects():
    assert get("marginal") == Marginal()
    assert get("pac") == PAC()
    chosen = PAC(delta=0.01)
    assert get(chosen) is chosen


@pytest.mark.parametrize("wrong", ["exact", None, 0.1, Marginal])
def test_anything_else_is_refused_with_the_choices(wrong):
    with pytest.raises(InvalidParameter, match='must be "marginal" or "pac", or an'):
        get(wrong)
