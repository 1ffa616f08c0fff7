"""Explanations: what binds, what is worst, what less protection would buy."""

import json
import pickle

import cvxpy as cp
import numpy as np
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression

import sublevel as sl
from sublevel.errors import InvalidParameter
from sublevel.plots import plot_explanation, plot_steps

RNG = np.random.default_rng(7)
X = RNG.normal(size=(700, 2))
Y = 10 + X + 0.5 * RNG.normal(size=(700, 2))
TRAIN, FOLD, NEW = slice(0, 200), slice(200, 500), slice(500, 520)
MODEL = LinearRegression().fit(X[TRAIN], Y[TRAIN])
SETS = sl.LossSet(MODEL)


def stock(constraints=lambda d, q: [q >= d]):
    """Stock that covers demand, at unequal prices."""
    d, q = sl.Uncertain(2, name="demand"), cp.Variable(2, name="stock", nonneg=True)
    return sl.RobustProblem(
        cp.Minimize(np.array([1.0, 3.0]) @ q), constraints(d, q), {d: SETS}
    )


@pytest.fixture(scope="module")
def policy():
    return stock().compile().calibrate(X[FOLD], Y[FOLD], alpha=0.1)


def test_the_worst_outcome_and_what_binds_are_named(policy):
    decisions = policy.decide(X[NEW])
    explained = decisions[3].explain()
    assert [room.tight for room in explained.constraints] == [True]
    assert explained.constraints[0].room == pytest.approx(0, abs=1e-6)
    table = explained.to_pandas()
    point = MODEL.predict(X[NEW][3:4])[0]
    np.testing.assert_allclose(table["predicted"], point)
    # A ball of squared errors reaches its radius in each component alone.
    radius = np.sqrt(policy.budget_)
    np.testing.assert_allclose(table["upper"], point + radius, rtol=1e-6)
    assert "demand[0]" in str(explained)
    assert "holds it back" in str(explained)


def test_what_is_certain_does_not_bind():
    problem = stock(lambda d, q: [q >= d - 50, q >= 3])
    explained = problem.compile().at(1.0).decide(X[NEW])[0].explain()
    assert not explained.binding
    assert explained.constraints[0].room > 30
    assert "would buy nothing" in str(explained)


def test_shares_of_the_budget_are_decisions_at_these_budgets(policy):
    explained = policy.decide(X[NEW])[5].explain()
    for share, objective in zip(explained.shares, explained.objectives, strict=True):
        # The cost of the corner of the box around a ball.
        radius = np.sqrt(share * policy.budget_)
        worst = MODEL.predict(X[NEW][5:6])[0] + radius
        assert objective == pytest.approx(worst @ [1.0, 3.0], rel=1e-6)
    assert explained.unprotected == explained.objectives[0]
    buys = explained.objective - explained.objectives[explained.shares == 0.9][0]
    assert f"{buys:.4g}" in str(explained)


def test_how_unusual_counts_the_calibration(policy):
    explained = policy.decide(X[NEW])[0].explain()
    errors = ((Y[FOLD] - MODEL.predict(X[FOLD])) ** 2).sum(axis=1)
    share = np.mean(errors > policy.budget_)
    assert 0.05 < share < 0.95
    assert explained.outcomes[0].beyond == pytest.approx(share)


def test_a_maximised_objective_pays_in_the_other_direction():
    r, w = sl.Uncertain(2, name="r"), cp.Variable(2, name="w", nonneg=True)
    problem = sl.RobustProblem(cp.Maximize(r @ w), [cp.sum(w) == 1], {r: SETS})
    policy = problem.compile().calibrate(X[FOLD], Y[FOLD], alpha=0.1)
    explained = policy.decide(X[NEW])[0].explain()
    assert explained.objective < explained.unprotected
    assert explained.as_predicted > explained.objective
    assert "only the objective is guarded" in str(explained)
    cost = explained.unprotected - explained.objective
    assert f"being safe costs {cost:.4g}" in str(explained)


def test_a_context_without_a_decision_says_why_and_what_to_do():
    problem = stock(lambda d, q: [q >= d, q <= 5])
    decisions = problem.compile().at(1.0).decide(X[NEW])
    explained = decisions[0].explain()
    assert explained.status == "infeasible"
    assert "No decision keeps every constraint" in str(explained)
    assert "fallback" in str(explained)
    with pytest.raises(InvalidParameter, match="must be of a context with a decision"):
        plot_explanation(explained)


def test_a_set_value_has_a_worst_outcome_and_no_prediction():
    d, q = sl.Uncertain(2, name="demand"), cp.Variable(2, name="stock")
    box = sl.sets.Box([1.0, 2.0], [3.0, 4.0])
    decision = sl.RobustProblem(cp.Minimize(cp.sum(q)), [q >= d], {d: box}).solve()
    explained = decision.explain()
    assert explained.binding
    assert np.isnan(explained.outcomes[0].predicted).all()
    assert "demand[0] = 3" in str(explained)


def test_integers_are_decided_again_only_if_asked():
    d, n = sl.Uncertain(2, name="demand"), cp.Variable(2, name="crews", integer=True)
    problem = sl.RobustProblem(cp.Minimize(cp.sum(n)), [4 * n >= d], {d: SETS})
    decision = problem.compile().at(1.0).decide(X[NEW][:1])[0]
    quick, full = decision.explain(), decision.explain(again=True)
    assert not quick.shares.size
    assert full.shares.size
    assert np.isfinite(full.unprotected)


def test_decisions_from_elsewhere_say_why_they_cannot_be_explained(policy):
    decisions = pickle.loads(pickle.dumps(policy.decide(X[NEW])))
    with pytest.raises(InvalidParameter, match="needs the policy that decided"):
        decisions[0].explain()
    with pytest.raises(InvalidParameter, match="from 0 to 19, got 20"):
        policy.decide(X[NEW]).explain(20)


def test_explanations_are_plain_json(policy):
    decision = policy.decide(X[NEW])[0]
    facts = json.loads(json.dumps(decision.explain().to_dict(), allow_nan=False))
    assert facts["outcomes"][0]["name"] == "demand"
    facts = policy.explain(X[FOLD], Y[FOLD]).to_dict()
    assert len(json.loads(json.dumps(facts, allow_nan=False))["steps"]) == 4


def test_a_policy_says_what_a_step_of_alpha_buys(policy):
    explained = policy.explain(X[FOLD], Y[FOLD])
    looked = explained.looked
    fresh = stock().compile()
    for step in looked.steps[:2]:
        fresh.calibrate(X[FOLD], Y[FOLD], alpha=step.alpha)
        assert step.budget == pytest.approx(fresh.budget_)
        certified = fresh.decide(X[FOLD]).objective.mean()
        assert step.certified == pytest.approx(certified)
    assert [step.alpha for step in looked.steps] == [0.05, 0.2, 0.1]
    assert looked.present.budget == pytest.approx(policy.budget_)
    assert looked.steps[2].budget <= looked.present.budget
    seen = policy.evaluate(X[FOLD], Y[FOLD])
    assert looked.kept == pytest.approx(1 - seen.violation)
    assert "costs" in explained.sentences()[-3]
    assert "buys" in explained.sentences()[-2]
    assert len(plot_steps(explained).get_yticklabels()) == 4


def test_a_policy_without_data_says_how_it_decides_and_what_is_missing(policy):
    assert "one compiled program" in str(policy.explain())
    assert "explain(X, Y)" in str(policy.explain())
    assert "Nothing is promised" in str(stock().compile().explain())
    with pytest.raises(InvalidParameter, match="must have looked at outcomes"):
        plot_steps(policy.explain())


def test_the_picture_has_every_entry(policy):
    ax = plot_explanation(policy.decide(X[NEW])[0].explain())
    labels = [label.get_text() for label in ax.get_yticklabels()]
    assert labels == ["demand[0]", "demand[1]"]


def test_oracles_of_ones_own_have_a_worst_outcome_and_no_prediction():
    class Balls:
        def predict_set(self, X):
            return [sl.sets.Ellipsoid(row, radius=0.5) for row in np.asarray(X)]

    d, q = sl.Uncertain(2, name="demand"), cp.Variable(2, name="stock")
    problem = sl.RobustProblem(cp.Minimize(cp.sum(q)), [q >= d], {d: Balls()})
    explained = problem.solve([[1.0, 2.0]]).explain(again=True)
    assert explained.binding
    assert np.isnan(explained.outcomes[0].predicted).all()
    assert np.isnan(explained.unprotected)


def test_labels_are_explained_by_their_names():
    classes = np.array(["calm", "rain", "storm"])
    seen = X[:, 0] + 0.4 * np.random.default_rng(0).normal(size=len(X))
    y = classes[np.digitize(seen, [-0.5, 1.0])]
    model = LogisticRegression().fit(X[TRAIN], y[TRAIN])
    sets = sl.LossSet(model, loss="cross_entropy")
    weather, boats = sl.Uncertain(3, name="weather"), cp.Variable(nonneg=True)
    loss = np.array([-5.0, -1.0, 8.0])  # by boat that is out
    goal = cp.Minimize(weather @ (loss * boats))
    limits = [boats >= 1, boats <= 3]
    policy = sl.RobustProblem(goal, limits, {weather: sets}).compile()
    policy.calibrate(X[FOLD], y[FOLD], alpha=0.02)
    each = [decision.explain() for decision in policy.decide(X[NEW])]
    texts = [str(explained) for explained in each]
    names = ["weather[calm]", "weather[rain]", "weather[storm]"]
    assert list(each[0].to_pandas().index) == names
    regions = sets.predict_set(X[NEW], budget=policy.budget_)
    beside = 0
    for text, region, label in zip(texts, regions, model.predict(X[NEW]), strict=True):
        worst = max(region.labels()[0])  # storms are worst, and last in the alphabet
        which = f"the likeliest, {worst}"
        if worst != label:
            beside += 1
            which = f"{worst}, where {label} is likeliest"
        assert f"The worst weather is {which}." in text
    assert 0 < beside < len(texts)
    assert "less likely than sets of this budget allow" in texts[0]
    assert "weather[0]" not in texts[0]
