"""Violations by group: the table, the rule that does not cry wolf, and the picture."""

import warnings
from dataclasses import replace

import cvxpy as cp
import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from scipy import stats

import sublevel as sl
from sublevel.errors import GroupsAbove, InvalidParameter
from sublevel.evaluation import Evaluation
from sublevel.evaluation.by_group import (
    FALSE_ALARM,
    adjust,
    chance_of,
    read_groups,
    table_by_group,
    warn_of_groups,
)
from sublevel.guarantees import Mondrian

mpl.use("Agg")

RNG = np.random.default_rng(1)
GROUPS = {
    "noisy": lambda X: X[:, 0] > 0.8,
    "calm": lambda X: X[:, 0] <= 0.8,
    "upper": lambda X: X[:, 0] > 0.5,
    "nobody": lambda X: X[:, 0] > 2,
}


def contexts(n):
    X = RNG.random((n, 1))
    return X, X[:, 0] + np.where(X[:, 0] > 0.8, 3.0, 1.0) * RNG.normal(size=n)


def rule_of(guarantee="marginal"):
    return sl.calibrate_rule(
        lambda x, level: x[0] + level,
        lambda stock, demand: demand > stock,
        *contexts(600),
        0.1,
        np.linspace(0, 12, 121),
        guarantee=guarantee,
        cost=lambda stock, demand: stock,
    )


def seen_of(violated, groups, alpha=0.1):
    n, nothing = len(violated), np.full(len(violated), np.nan)
    rest = (nothing, nothing, nothing)
    return Evaluation(
        np.full(n, "decided"), np.ones(n, bool), violated, *rest, 0.95, groups, alpha
    )


def test_one_level_for_all_is_warned_of_and_one_a_group_is_not():
    X, Y = contexts(3000)
    named = r"'noisy' \(.*Mondrian\(groups\)"
    with pytest.warns(GroupsAbove, match=named) as caught:
        one = rule_of().evaluate(X, Y, groups=GROUPS)
    assert caught[0].filename == __file__
    table = one.by_group()
    assert table["above"].tolist() == [True, False, True, False]
    for name, flag in GROUPS.items():
        inside, row = flag(X), table.loc[name]
        assert row["contexts"] == row["decided"] == inside.sum()
        if name == "nobody":
            assert np.isnan(row["violation"])
            assert (row["low"], row["high"], row["p"]) == (0.0, 1.0, 1.0)
            continue
        hits, n = int(one.violated[inside].sum()), int(inside.sum())
        interval = stats.binomtest(hits, n).proportion_ci(0.95)
        assert row["violation"] == hits / n
        assert (row["low"], row["high"]) == pytest.approx(interval)
    several = {name: flag for name, flag in GROUPS.items() if name != "nobody"}
    each = rule_of(Mondrian(several)).evaluate(X, Y, groups=several)
    assert not each.by_group()["above"].any()


def test_chances_are_exact_and_adjusted_by_holm():
    violated = np.zeros(60, bool)
    violated[[0, 1, 2, 3, 20, 40, 41]] = True
    rows = [np.arange(20), np.arange(20, 40), np.arange(40, 60)]
    seen = seen_of(violated, tuple(zip("abc", rows, strict=True)))
    table = seen.by_group()
    plain = np.array([stats.binom.sf(k - 1, 20, 0.1) for k in (4, 1, 2)])
    a, c = 3 * plain[0], max(3 * plain[0], 2 * plain[2])
    expected = [a, max(c, plain[1]), c]
    np.testing.assert_allclose(table["p"], np.minimum(expected, 1.0), rtol=1e-10)
    assert replace(seen, alpha=None).by_group()["p"].isna().all()
    assert not replace(seen, alpha=None).by_group()["above"].any()


def test_a_group_is_called_above_in_at_most_a_twentieth_of_the_samples():
    """At alpha exactly, in eight groups; without adjusting far more often."""
    rng, runs, n = np.random.default_rng(5), 2000, 400
    flags = rng.random((8, n)) < np.linspace(0.1, 1.0, 8)[:, None]
    sizes = flags.sum(axis=1).tolist()
    alarms = plain = 0
    for _ in range(runs):
        hits = (flags @ (rng.random(n) < 0.1).astype(int)).tolist()
        each = zip(hits, sizes, strict=True)
        chances = np.array([chance_of(k, size, 0.1) for k, size in each])
        alarms += bool((adjust(chances) <= FALSE_ALARM).any())
        plain += bool((chances <= FALSE_ALARM).any())
    most = stats.binom.isf(1e-6, runs, 0.05)
    assert alarms <= most < plain


def test_policies_side_by_side():
    X, Y = contexts(2000)
    y, s = sl.Uncertain(1, name="y"), cp.Variable(1, name="s")
    problem = sl.RobustProblem(
        cp.Minimize(cp.sum(s)), [s >= y], {y: sl.LossSet(lambda X: X)}
    )
    policy = problem.compile()
    policy.calibrate(*contexts(500), 0.1)
    assert policy.promised_alpha == 0.1
    bare = problem.compile()
    assert bare.promised_alpha is None
    policies = {"one": policy, "none": bare.at(0.1)}
    with pytest.warns(GroupsAbove, match=r"'noisy' of policy 'one' \(") as caught:
        both = sl.evaluate(policies, X, Y, groups=GROUPS)
    assert "'none'" not in str(caught[0].message)
    table = both.by_group()
    assert list(table.index.names) == ["policy", "group"]
    assert table.loc["one", "alpha"].eq(0.1).all()
    assert table.loc["none", "p"].isna().all()
    with pytest.warns(GroupsAbove, match="and 1 more"):
        both = sl.evaluate(policies, X, Y, groups=GROUPS, alpha=0.05)
    ax = sl.plots.plot_groups(both)
    drawn = ax.containers[0].lines[0].get_xdata()
    table = both.by_group()
    rates = table.loc["one", "violation"]
    np.testing.assert_array_equal(drawn.astype(float), rates)
    assert len(ax.get_yticklabels()) == 4
    with pytest.warns(GroupsAbove):
        alone = policy.evaluate(X, Y, groups=GROUPS)
    assert sl.plots.plot_groups(alone).get_legend() is None
    assert policy.evaluate(X, Y).by_group().empty
    with pytest.raises(InvalidParameter, match="no groups"):
        sl.plots.plot_groups(policy.evaluate(X, Y))
    with pytest.raises(InvalidParameter, match="groups"):
        policy.evaluate(X, Y, groups=3.5)


@pytest.mark.parametrize("given", [["z"], ["p", "n"] * 20, [9]])
def test_a_list_may_be_meant_as_columns_or_as_labels(given):
    X = np.zeros((40, 2))
    both = rf"list of columns of X.*labels are meant.*40 rows, got {len(given)} labels"
    with pytest.raises(InvalidParameter, match=both):
        read_groups("Policy.evaluate", given, X, 40)
    with pytest.raises(InvalidParameter) as caught:
        read_groups("Policy.evaluate", [0, lambda X: X], X, 40)
    assert "labels are meant" not in str(caught.value)


def test_what_was_promised_to_groups_and_not_kept_has_another_way_out():
    seen = seen_of(np.ones(30, bool), (("all", np.arange(30)),))
    table = table_by_group({"policy": seen})
    with pytest.warns(GroupsAbove, match="promised in each group.*shifted"):
        warn_of_groups("evaluate", table, ["policy"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_of_groups("evaluate", table_by_group({"p": replace(seen, alpha=None)}))


def test_labels_of_the_rows_are_groups_and_their_order_is_held_to_that_of_X():
    rule, (X, Y) = rule_of(), contexts(400)
    labels = np.where(X[:, 0] > 0.8, "noisy", "calm")
    with pytest.warns(GroupsAbove, match="noisy"):
        ours = rule.evaluate(X, Y, groups=labels)
    with pytest.warns(GroupsAbove, match="noisy"):
        read = rule.evaluate(X, Y, groups=lambda X: labels)
    assert ours.by_group().equals(read.by_group())
    with pytest.raises(InvalidParameter, match="one label for each of the 400 rows"):
        rule.evaluate(X, Y, groups=labels[:399])
    with pytest.raises(InvalidParameter, match="labels of the rows as an array"):
        rule.evaluate(X, Y, groups=1.5)
    frame = pd.DataFrame({"x": X[:, 0]})
    turned = pd.Series(labels)[::-1]
    with pytest.raises(InvalidParameter, match="in the order of X"):
        read_groups("Policy.evaluate", turned, frame, 400)
