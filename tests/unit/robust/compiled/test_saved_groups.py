"""Policies calibrated by group, in files: each group decided as before, or a reason."""

import datetime

import cvxpy as cp
import numpy as np
import pandas as pd
import pytest

import sublevel as sl
from sublevel.errors import CertificateVoid, InfiniteBudget, InvalidParameter
from sublevel.guarantees import PAC, Mondrian, Weighted

from .given import Given, contexts, portfolio
from .mutations import edit
from .test_policy_file import replaced, same

DIM = 3


class Numbers(Given):
    """`Given` on the numbers of a table; what tells groups is beside them."""

    def predict(self, X, return_std=False):
        return super().predict(np.asarray(X)[:, : 2 * DIM].astype(float), return_std)


def table(n, rng):
    """Numbers, a region, and flags that overlap; outcomes that differ by region."""
    numbers = contexts(n, DIM, rng)
    X = pd.DataFrame(numbers, columns=[f"x{k}" for k in range(2 * DIM)])
    X["region"] = rng.choice(["north", "south"], n)
    X["year"] = rng.integers(2020, 2022, n)
    X["all"] = True
    X["large"] = X.x0 > 3
    far = np.where(X.region == "south", 3.0, 1.0)[:, None]
    noise = rng.normal(size=(n, DIM)) * numbers[:, DIM:] * far
    noise[X.large] *= 1.7
    return X, numbers[:, :DIM] + noise


def array(n, rng):
    """The same as an array of numbers: region and year in columns 6 and 7."""
    X, Y = table(n, rng)
    columns = [X.region == "south", X.year, X["all"], X.large]
    return np.column_stack([X.iloc[:, : 2 * DIM], *columns]).astype(float), Y


def large(X):
    return np.asarray(X)[:, 0].astype(float) > 3


def nearly_large(X):
    return np.asarray(X)[:, 0].astype(float) > 3.3


def fallible(X):
    raise KeyError("a column that is not there")


def problem(loss="gaussian"):
    return portfolio(sl.LossSet(Numbers(), loss), DIM)[2]


def calibrated(groups, rows=table, n=160, guarantee="marginal", loss="gaussian"):
    """A policy calibrated by group, and contexts to decide."""
    rng = np.random.default_rng(3)
    policy = problem(loss).compile()
    grouped = Mondrian(groups, guarantee)
    policy.calibrate(*rows(n, rng), alpha=0.2, guarantee=grouped)
    return policy, rows(40, rng)[0]


COLUMNS = {
    "labels by name": ("region", table),
    "labels that are numbers": ("year", table),
    "labels by position": (6, array),
    "flags by name": (["all", "large"], table),
    "flags that have names": ({"everyone": "all", "the large": "large"}, table),
    "flags by position": ({True: -2, 0.5: -1}, table),
}


@pytest.mark.parametrize("loss", ["gaussian", "absolute"])
@pytest.mark.parametrize("name", COLUMNS)
def test_columns_make_the_round_trip(tmp_path, name, loss):
    groups, rows = COLUMNS[name]
    policy, X = calibrated(groups, rows, loss=loss)
    policy.save(tmp_path / "p")
    again = sl.load_policy(tmp_path / "p", models={"r": Numbers()})
    before, after = policy.decide(X), again.decide(X)
    same(after, before)
    assert (before.status == "optimal").all()
    levels = {c.budget for _, c in policy.certificate_.groups}
    assert len(levels) == 2, "one budget would not show whose it is"
    mine, theirs = policy.certificate_.groups, after.certificate.groups
    assert [c for _, c in mine] == [c for _, c in theirs]
    assert [n for n, _ in mine] == [n for n, _ in theirs]
    assert after.certificate.alpha == 0.2


def test_each_group_is_decided_at_its_own_budget(tmp_path):
    """Next to one policy for each group, made without any."""
    policy, X = calibrated("region")
    policy.save(tmp_path / "p")
    after = sl.load_policy(tmp_path / "p", models={"r": Numbers()}).decide(X)
    single, objectives = problem().compile(), []
    for region, certificate in policy.certificate_.groups:
        own = (X.region == region).to_numpy()
        assert own.any()
        one = single.at(certificate.budget).decide(X)
        np.testing.assert_allclose(after.objective[own], one.objective[own], rtol=1e-7)
        objectives.append(one.objective)
    assert (np.abs(objectives[0] - objectives[1]) > 1e-3).all()


def test_a_context_in_several_groups_has_the_largest_budget(tmp_path):
    policy, X = calibrated(["all", "large"])
    policy.save(tmp_path / "p")
    after = sl.load_policy(tmp_path / "p", models={"r": Numbers()})
    budgets = {name: c.budget for name, c in policy.certificate_.groups}
    assert budgets["large"] > budgets["all"]
    both = sl.load_policy(tmp_path / "p", {"r": Numbers()}).keys[0].source
    found = both.predict_set(X).parts[0].effective_budgets
    unit = policy.keys[0].source.unit
    wanted = np.where(X.large, budgets["large"], budgets["all"]) * unit
    np.testing.assert_array_equal(found, wanted)
    outside = X.assign(all=False, large=False)
    assert set(after.decide(outside).status) == {"unbounded_set"}


def test_a_group_that_was_never_seen_has_no_promise_here_either(tmp_path):
    policy, X = calibrated("region")
    policy.save(tmp_path / "p")
    new = X.assign(region=np.where(np.arange(len(X)) < 5, "west", X.region))
    after = sl.load_policy(tmp_path / "p", models={"r": Numbers()}).decide(new)
    same(after, policy.decide(new))
    assert (after.status[:5] == "unbounded_set").all()
    assert (after.status[5:] == "optimal").all()


def test_a_group_too_small_stays_without_a_budget(tmp_path):
    rng = np.random.default_rng(4)
    X, Y = table(60, rng)
    X["region"] = np.where(np.arange(60) < 3, "south", "north")
    policy = problem().compile()
    with pytest.warns(InfiniteBudget, match="'south' .3 scores"):
        policy.calibrate(X, Y, 0.1, guarantee=Mondrian("region"))
    policy.save(tmp_path / "p")
    after = sl.load_policy(tmp_path / "p", models={"r": Numbers()}).decide(X)
    same(after, policy.decide(X))
    assert (after.status[:3] == "unbounded_set").all()


def test_sets_that_were_calibrated_by_group_are_saved_too(tmp_path):
    rng = np.random.default_rng(5)
    sets = sl.LossSet(Numbers(), "gaussian")
    sets.calibrate(*table(160, rng), 0.2, guarantee=Mondrian("region"))
    policy, X = portfolio(sets, DIM)[2].compile(), table(30, rng)[0]
    before = policy.decide(X)
    policy.save(tmp_path / "p")
    for model in (Numbers(), sets, sl.LossSet(Numbers(), "gaussian")):
        after = sl.load_policy(tmp_path / "p", models={"r": model}).decide(X)
        same(after, before)
        assert len(after.certificate.groups) == 2


def test_pac_at_once_makes_the_round_trip(tmp_path):
    rng = np.random.default_rng(6)
    X, Y = table(300, rng)
    policy = problem().compile()
    grouped = Mondrian(["all", "large"], PAC(0.1), at_once=True)
    policy.calibrate(X, Y, 0.2, guarantee=grouped)
    policy.save(tmp_path / "p")
    after = sl.load_policy(tmp_path / "p", models={"r": Numbers()}).decide(X)
    same(after, policy.decide(X))
    assert after.certificate.confidence == 0.9


def test_several_parameters_and_a_lazy_table(tmp_path):
    dd = pytest.importorskip("dask.dataframe")
    rng = np.random.default_rng(7)
    a, b = sl.Uncertain(DIM, name="a"), sl.Uncertain(DIM, name="b")
    w = cp.Variable(DIM, nonneg=True, name="w")
    before = table(60, rng)
    sets = {k: sl.LossSet(Numbers(), "gaussian").calibrate(*before) for k in (a, b)}
    goal = cp.Maximize(a @ w)
    policy = sl.RobustProblem(goal, [b @ w <= 9, cp.sum(w) <= 2], sets).compile()
    X, Y = table(160, rng)
    policy.calibrate(X, {a: Y, b: Y}, 0.2, guarantee=Mondrian("region"))
    policy.save(tmp_path / "p")
    assert {key.source.unit for key in policy.keys} != {1.0}
    again = sl.load_policy(tmp_path / "p", {"a": Numbers(), "b": Numbers()})
    after = again.decide(X)
    same(after, policy.decide(X))
    lazy = again.decide_lazily(dd.from_pandas(X, npartitions=3, sort=False))
    decided = lazy.compute(scheduler="synchronous")
    np.testing.assert_array_equal(decided.objective, after.objective)


# ---- functions -----------------------------------------------------------------------


def everyone(X):
    return np.ones(len(X), dtype=bool)


FUNCTIONS = {
    "labels": (large, nearly_large),
    "a list": ([everyone, large], [everyone, nearly_large]),
    "a dict with a column": (
        {"all": "all", "large": large},
        {"all": "all", "large": nearly_large},
    ),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_are_given_again_and_recognised(tmp_path, name):
    groups, others = FUNCTIONS[name]
    policy, X = calibrated(groups)
    policy.save(tmp_path / "p")
    models = {"r": Numbers()}
    with pytest.raises(InvalidParameter, match="a file holds nothing that runs"):
        sl.load_policy(tmp_path / "p", models)
    again = sl.load_policy(tmp_path / "p", models, groups={"r": groups})
    same(again.decide(X), policy.decide(X))
    assert len(again.decide(X).certificate.groups) == 2
    wrong = {"labels": "gives others", "a list": "must have the groups"}
    with pytest.raises(InvalidParameter, match=wrong.get(name, "gives others")):
        sl.load_policy(tmp_path / "p", models, groups={"r": others})


def test_functions_that_are_not_those(tmp_path):
    policy, _ = calibrated(large)
    policy.save(tmp_path / "p")
    for given, words in [
        (fallible, "a column that is not there"),
        ("region", "gives others"),
        ({"all": "all"}, "must have the groups that were calibrated"),
        (3.5, "a function of X, a column name"),
    ]:
        with pytest.raises(InvalidParameter, match=words):
            sl.load_policy(tmp_path / "p", groups={"r": given})
    with pytest.raises(InvalidParameter, match=r"name uncertain parameters.*\['s'\]"):
        sl.load_policy(tmp_path / "p", groups={"s": large})
    with pytest.raises(InvalidParameter, match="must be a dict"):
        sl.load_policy(tmp_path / "p", groups=large)


def test_a_loss_set_brings_the_functions_it_was_calibrated_with(tmp_path):
    rng = np.random.default_rng(8)
    sets = sl.LossSet(Numbers(), "gaussian")
    sets.calibrate(*table(160, rng), 0.2, guarantee=Mondrian(large))
    policy, X = portfolio(sets, DIM)[2].compile(), table(30, rng)[0]
    before = policy.decide(X)
    policy.save(tmp_path / "p")
    same(sl.load_policy(tmp_path / "p", {"r": sets}).decide(X), before)
    other = sl.LossSet(Numbers(), "gaussian")
    other.calibrate(*table(160, rng), 0.2, guarantee=Mondrian(nearly_large))
    with pytest.raises(InvalidParameter, match="gives others"):
        sl.load_policy(tmp_path / "p", {"r": other})


def test_groups_are_given_only_where_they_are_functions(tmp_path):
    policy, _ = calibrated("region")
    policy.save(tmp_path / "p")
    with pytest.raises(InvalidParameter, match="which are in the file"):
        sl.load_policy(tmp_path / "p", groups={"r": "region"})
    policy.calibrate(*table(160, np.random.default_rng(9)), alpha=0.2)
    policy.save(tmp_path / "p")
    with pytest.raises(InvalidParameter, match="which has one budget"):
        sl.load_policy(tmp_path / "p", groups={"r": "region"})


# ---- what cannot be ------------------------------------------------------------------


@pytest.mark.parametrize(
    "label", [datetime.date(2020, 1, 1), ("a", 1), float("inf"), b"a"]
)
def test_labels_that_a_file_has_no_words_for(tmp_path, label):
    names = {label: "all", "large": "large"}
    policy, _ = calibrated(names)
    with pytest.raises(InvalidParameter, match="called by a word, a finite number"):
        policy.save(tmp_path / "p")
    assert not list(tmp_path.iterdir())


def test_labels_of_numpy_are_those_of_python(tmp_path):
    rng = np.random.default_rng(10)
    X, Y = table(160, rng)
    X["place"] = pd.Series([np.int64(v) for v in X.year], dtype=object)
    policy = problem().compile()
    policy.calibrate(X, Y, 0.2, guarantee=Mondrian("place"))
    policy.save(tmp_path / "p")
    same(sl.load_policy(tmp_path / "p", {"r": Numbers()}).decide(X), policy.decide(X))


def test_budgets_by_weights_are_not_saved(tmp_path):
    policy = problem().compile()
    X, Y = array(160, np.random.default_rng(11))
    guarantee = Weighted(lambda X: np.exp(0.1 * X[:, 0]))
    policy.calibrate(X, Y, 0.2, guarantee=guarantee)
    with pytest.raises(InvalidParameter, match=r"or with Mondrian\(groups\)"):
        policy.save(tmp_path / "p")


def test_predictions_do_not_tell_their_groups(tmp_path):
    policy, X = calibrated("region")
    policy.save(tmp_path / "p")
    numbers = X.to_numpy()[:, : 2 * DIM].astype(float)
    prediction = sl.Prediction(numbers[:, :DIM], numbers[:, DIM:])
    with pytest.raises(InvalidParameter, match="its budget differs between contexts"):
        sl.load_policy(tmp_path / "p").decide(prediction)
    with pytest.raises(InvalidParameter, match="must be a column of X"):
        sl.load_policy(tmp_path / "p", {"r": Numbers()}).decide(numbers)


def test_another_model_decides_by_group_without_a_certificate(tmp_path):
    class Other(Numbers):
        def predict(self, X, return_std=False):
            location, scale = super().predict(X, True)
            return (location + 1, scale) if return_std else location + 1

    policy, X = calibrated("region")
    policy.save(tmp_path / "p")
    with pytest.warns(CertificateVoid, match="predicts something else"):
        after = sl.load_policy(tmp_path / "p", {"r": Other()}).decide(X)
    assert after.certificate is None


def groups_of(about):
    return about["keys"][0]["groups"]


def certificates_of(about):
    return about["keys"][0]["certificate"]["groups"]


def swap(values):
    values[0], values[1] = values[1], values[0]


EDITS = {
    "a budget": replaced(lambda a: groups_of(a)["budgets"], lambda v: v / 2),
    "a budget of no number": replaced(
        lambda a: groups_of(a)["budgets"], lambda v: v * np.nan
    ),
    "budgets swapped": replaced(lambda a: groups_of(a)["budgets"], lambda v: v[::-1]),
    "a budget too few": replaced(lambda a: groups_of(a)["budgets"], lambda v: v[1:]),
    "names swapped": lambda a, _: swap(groups_of(a)["names"]),
    "all names swapped": lambda a, _: (
        swap(groups_of(a)["names"]),
        swap(certificates_of(a)),
    ),
    "a name twice": lambda a, _: groups_of(a).update(names=["all", "all"]),
    "no names": lambda a, _: groups_of(a).update(names=[], flags=[]),
    "a name that is a list": lambda a, _: groups_of(a).update(names=["all", ["large"]]),
    "another column": lambda a, _: groups_of(a)["flags"][1].__setitem__(1, "all"),
    "columns swapped": lambda a, _: groups_of(a).update(
        flags=[["all", "large"], ["large", "all"]]
    ),
    "a column that is no name": lambda a, _: groups_of(a)["flags"][1].__setitem__(
        1, {"x": 1}
    ),
    "a column that is a truth value": lambda a, _: groups_of(a)["flags"][1].__setitem__(
        1, True
    ),
    "labels beside flags": lambda a, _: groups_of(a).update(labels="region"),
    "labels for flags": lambda a, _: groups_of(a).update(labels="region", flags=None),
    "functions for flags": lambda a, _: groups_of(a).update(flags=None),
    "no groups": lambda a, _: a["keys"][0].update(groups=None),
    "no word of groups": lambda a, _: a["keys"][0].pop("groups"),
    "a budget for all": lambda a, _: a["keys"][0].update(budget=0.5),
    "a certificate of its own": lambda a, _: certificates_of(a)[0][1].update(
        budget=0.5
    ),
    "certificates swapped": lambda a, _: swap(certificates_of(a)),
    "a group too few in the certificate": lambda a, _: certificates_of(a).pop(),
    "another unit": lambda a, _: a["keys"][0].update(unit=0.5),
    "budgets at probes": replaced(lambda a: a["probe"]["budgets"][0], lambda v: v / 2),
    "no budgets at probes": lambda a, _: a["probe"].update(budgets=[None]),
    "a key too many at probes": lambda a, _: a["probe"]["budgets"].append(None),
}


@pytest.fixture(scope="module")
def overlapping(tmp_path_factory):
    """A file of a policy with groups that overlap: its bytes."""
    path = tmp_path_factory.mktemp("groups") / "p"
    calibrated(["all", "large"])[0].save(path)
    return path.read_bytes()


@pytest.mark.parametrize(
    ("name", "probed"),
    [(name, True) for name in EDITS]
    + [(name, False) for name in EDITS if "probes" not in name],
)
def test_edits_are_refused(overlapping, tmp_path, name, probed):
    """By the checksum; and where that was forged, because they cannot be."""
    path = tmp_path / "p"
    path.write_bytes(overlapping)
    if not probed:
        edit(path, lambda about, _: about.update(probe=None))
    sl.load_policy(path)
    raw = path.read_bytes()
    edit(path, EDITS[name], seal=False)
    with pytest.raises(InvalidParameter, match="damaged or edited"):
        sl.load_policy(path)
    path.write_bytes(raw)
    edit(path, EDITS[name])
    with pytest.raises(InvalidParameter, match="something in it cannot be"):
        sl.load_policy(path)
