"""Policies in files: the same decisions, or a reason why not."""

import json
import multiprocessing
import pickle
import tracemalloc
import zipfile
from concurrent.futures import ThreadPoolExecutor

import cvxpy as cp
import numpy as np
import pytest

import sublevel as sl
from sublevel.errors import CannotWrite, InvalidParameter
from sublevel.robust.files import policy_file
from sublevel.robust.files.policy_file import _checksum, read_file, write_file

from .given import Given, calibrated, contexts, portfolio
from .mutations import edit
from .test_policy import COMBINED, LOSSES

DIM = 3


@pytest.fixture
def saved(tmp_path):
    """A policy, the file it is in, and contexts."""
    rng = np.random.default_rng(61)
    policy = portfolio(calibrated("gaussian", DIM, rng), DIM)[2].compile()
    path = tmp_path / "policy.npz"
    policy.save(path)
    return policy, path, contexts(5, DIM, rng)


def same(one, two):
    np.testing.assert_array_equal(one.status, two.status)
    np.testing.assert_array_equal(one.objective, two.objective)
    for mine, theirs in zip(
        one.variables.values(), two.variables.values(), strict=True
    ):
        np.testing.assert_array_equal(mine, theirs)
    np.testing.assert_array_equal(one.audit.violations, two.audit.violations)


@pytest.mark.parametrize("name", LOSSES)
def test_every_loss_makes_the_round_trip(tmp_path, name):
    rng = np.random.default_rng(62)
    policy = portfolio(calibrated(LOSSES[name], DIM, rng), DIM)[2].compile()
    X, path = contexts(4, DIM, rng), tmp_path / "p"
    policy.save(path)
    again = sl.load_policy(path, models={"r": Given()})
    same(again.decide(X), policy.decide(X))
    same(
        sl.load_policy(path).decide(sl.Prediction(X[:, :DIM], X[:, DIM:])),
        policy.decide(X),
    )


def test_combined_losses_need_a_first_decision(tmp_path):
    rng = np.random.default_rng(63)
    X = contexts(40, DIM, rng)
    Y = np.abs(X[:, :DIM] + X[:, DIM:] * rng.normal(size=(40, DIM)))
    blocks = sl.ModelBlocks([Given(0, 2), Given(2, 3)], widths=[2, 1])
    sets = sl.LossSet(blocks, COMBINED["spread"]).calibrate(X, Y, alpha=0.2)
    policy = portfolio(sets, DIM)[2].compile()
    with pytest.raises(InvalidParameter, match="after a first decide"):
        policy.save(tmp_path / "p")
    found = policy.decide(X)
    policy.save(tmp_path / "p")
    same(sl.load_policy(tmp_path / "p", models={"r": blocks}).decide(X), found)


def test_set_values_parameters_and_everything_at_once(tmp_path):
    rng = np.random.default_rng(64)
    a, b = sl.Uncertain((2, 2), name="a"), sl.Uncertain(2, name="b", nonneg=True)
    x, price = cp.Variable((2, 2), name="x", nonneg=True), cp.Parameter(value=0.5)
    region = sl.sets.Ellipsoid([0.2, 0.3], radius=0.5)
    sets = calibrated("huber", 4, rng)
    problem = sl.RobustProblem(
        cp.Maximize(cp.minimum(cp.sum(cp.multiply(a, x)), 7) - price * cp.sum(x)),
        [cp.sum(x) <= 2, b @ x[0] <= 1],
        {a: sets, b: region},
    )
    policy, X = problem.compile(), contexts(4, 4, rng)
    policy.save(tmp_path / "p")
    again = sl.load_policy(tmp_path / "p", models={"a": sets})
    before = policy.decide(X)
    price.value = 3.0
    same(again.decide(X), before)
    found = again.decide(X)
    # The variable of the model it was made from is known by its name and shape.
    np.testing.assert_array_equal(found.value(x), before.value(x))
    np.testing.assert_array_equal(found[1].value("x"), before[1].value(x))
    np.testing.assert_array_equal(found.worst_case(a), before.worst_case("a"))
    np.testing.assert_array_equal(found[2].worst_case(a), before[2].worst_case(a))
    told = found.certificate["a"]
    assert told.assumptions[:-1] == sets.certificate_.assumptions
    assert told.budget == sets.certificate_.budget
    with pytest.raises(InvalidParameter, match="no variable 'x'"):
        found.value(cp.Variable(3, name="x"))


def test_a_variable_of_another_model_is_never_taken_for_one_of_the_file(saved):
    _, path, X = saved
    found = sl.load_policy(path, models={"r": Given()}).decide(X)
    for number in range(5):
        stranger = cp.Variable(DIM, var_id=number)
        with pytest.raises(InvalidParameter):
            found.value(stranger)
        with pytest.raises(InvalidParameter):
            found[0].value(stranger)


def test_what_a_loaded_policy_can_not_do(saved):
    _, path, X = saved
    again = sl.load_policy(path)
    assert again.one_by_one is None
    with pytest.raises(InvalidParameter, match="takes predictions"):
        again.decide(X)
    with pytest.raises(InvalidParameter, match="must name uncertain parameters"):
        sl.load_policy(path, models={"s": Given()})
    with pytest.raises(InvalidParameter, match="can only decide"):
        again.evaluate(X, X[:, :DIM])
    with pytest.raises(FileNotFoundError):
        sl.load_policy(path.with_name("nothing"))


def test_policies_that_cannot_be_saved(tmp_path):
    rng = np.random.default_rng(65)
    policy = portfolio(calibrated("gaussian", DIM, rng), DIM)[2].compile(engine="cuts")
    with pytest.raises(InvalidParameter, match="cutting planes were asked for"):
        policy.save(tmp_path / "p")
    assert not list(tmp_path.iterdir())


@pytest.mark.filterwarnings("ignore::sublevel.errors.InfiniteBudget")
def test_an_infinite_budget_stays_infinite(tmp_path):
    rng = np.random.default_rng(66)
    X = contexts(3, DIM, rng)
    few = sl.LossSet(Given(), "gaussian").calibrate(X, X[:, :DIM], alpha=0.01)
    portfolio(few, DIM)[2].compile().save(tmp_path / "p")
    found = sl.load_policy(tmp_path / "p", models={"r": Given()}).decide(X)
    assert set(found.status) == {"unbounded_set"}


def save_and_load(policy, path, times):
    """Save to one path, and load what is there, again and again."""
    for _ in range(times):
        policy.save(path)
        sl.load_policy(path)


def test_writers_of_one_path_do_not_harm_each_other(saved):
    """Four processes and four threads; nothing is left behind."""
    policy, path, X = saved
    processes = [
        multiprocessing.get_context("fork").Process(
            target=save_and_load, args=(policy, path, 8)
        )
        for _ in range(4)
    ]
    for process in processes:
        process.start()
    with ThreadPoolExecutor(4) as threads:
        for done in [threads.submit(save_and_load, policy, path, 8) for _ in range(4)]:
            done.result()
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0] * 4
    assert list(path.parent.iterdir()) == [path]
    same(sl.load_policy(path, {"r": Given()}).decide(X), policy.decide(X))


def test_links_are_followed_and_permissions_kept(saved, tmp_path):
    policy, path, _ = saved
    link = tmp_path / "link"
    link.symlink_to(path)
    path.write_bytes(b"something else")
    path.chmod(0o640)
    policy.save(link)
    assert link.is_symlink()
    assert path.stat().st_mode & 0o777 == 0o640
    sl.load_policy(path)
    sl.load_policy(link)


def test_a_file_gets_the_permissions_any_file_gets(saved, tmp_path):
    policy, _, _ = saved
    (tmp_path / "any").write_text("")
    policy.save(tmp_path / "fresh")
    modes = [(tmp_path / name).stat().st_mode for name in ("any", "fresh")]
    assert modes[0] == modes[1]


@pytest.mark.parametrize("path", ["", "a\0b", None, 5])
def test_a_path_must_be_a_file_name(saved, path):
    policy, *_ = saved
    for use in (policy.save, sl.load_policy):
        with pytest.raises(InvalidParameter, match="must be a file name"):
            use(path)


@pytest.mark.parametrize("path", ["nowhere/p", ".", "x" * 300])
def test_where_nothing_can_be_written(saved, path, tmp_path, monkeypatch):
    policy, *_ = saved
    monkeypatch.chdir(tmp_path)
    before = sorted(tmp_path.iterdir())
    with pytest.raises(CannotWrite, match=r"Policy\.save.* cannot write there"):
        policy.save(path)
    assert sorted(tmp_path.iterdir()) == before


def bomb(shape, kind, content):
    """An array whose head promises a shape."""
    head = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}"
    text = head.encode().ljust(117) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + content


BOMBS = {
    "a head that promises too much": bomb((10**12,), "<f8", bytes(8)),
    "a head of nothing at all": bomb((10**12,), "|V0", b""),
    "words of no length": bomb((10**12,), "<U0", b""),
    "a negative shape": bomb((-1,), "<f8", bytes(8)),
    "an array of arrays": bomb((1,), "(1000000,1000000)f8", bytes(8)),
    "zeros without end": bomb((2**25,), "<f8", bytes(2**28)),
    "no head": b"\x93NUMPY\x09\x00",
}


@pytest.mark.parametrize("name", BOMBS)
def test_nothing_is_allocated_that_a_file_only_promises(saved, name):
    _, path, _ = saved
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as file:
        file.writestr("a999.npy", BOMBS[name])
    tracemalloc.start()
    try:
        with pytest.raises(InvalidParameter, match="cannot be read as one"):
            sl.load_policy(path)
        assert tracemalloc.get_traced_memory()[1] < 2**25
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    "text", [b"[" * 10**6, b'{"format": ' + b"9" * 10**5 + b"}", b'"\xff"', b"NaN"]
)
def test_a_description_that_cannot_be(saved, text):
    _, path, _ = saved
    with path.open("wb") as file:
        np.savez(file, about=np.frombuffer(text, np.uint8))
    with pytest.raises(InvalidParameter, match="cannot be read as one"):
        sl.load_policy(path)


def test_what_is_large_is_not_packed_tightly(tmp_path, monkeypatch):
    """So that a file never unpacks to more than it is, beyond a size."""
    monkeypatch.setattr(policy_file, "MOST_PACKED", 2**16)
    write_file(tmp_path / "f", {"x": 1}, {"zeros": np.zeros(10**5)})
    assert (tmp_path / "f").stat().st_size > 8e5
    assert read_file(tmp_path / "f")[1]["zeros"].size == 10**5


def test_a_failed_save_leaves_the_old_file(saved, monkeypatch):
    policy, path, _ = saved
    before = path.read_bytes()

    def full(file, **arrays):
        file.write(b"half")
        raise OSError("no space left")

    monkeypatch.setattr(np, "savez_compressed", full)
    with pytest.raises(CannotWrite, match="no space"):
        policy.save(path)
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]


def test_damage_anywhere_is_refused(saved):
    """Every sixty-first byte flipped, cut off in a dozen places."""
    policy, path, X = saved
    raw = path.read_bytes()
    expected = policy.decide(X).objective
    refused = 0
    for at in range(0, len(raw), 61):
        path.write_bytes(raw[:at] + bytes([raw[at] ^ 0x55]) + raw[at + 1 :])
        try:
            again = sl.load_policy(path, models={"r": Given()})
        except InvalidParameter:
            refused += 1
        else:
            # A byte that says nothing, such as a date.
            np.testing.assert_array_equal(again.decide(X).objective, expected)
    assert refused > 0.5 * len(range(0, len(raw), 61))
    for share in np.linspace(0, 0.99, 12):
        path.write_bytes(raw[: int(share * len(raw))])
        with pytest.raises(InvalidParameter, match="cannot be read"):
            sl.load_policy(path)


class Trap:
    """Would leave a mark if it were ever unpickled."""

    def __reduce__(self):
        return (exec, ("raise SystemExit('unpickled')",))


def test_foreign_files_are_refused_and_nothing_is_run(tmp_path):
    path = tmp_path / "p"
    texts = {"text": b"objective,1.0\n", "empty": b"", "pickle": pickle.dumps(Trap())}
    for content in texts.values():
        path.write_bytes(content)
        with pytest.raises(InvalidParameter, match="cannot be read"):
            sl.load_policy(path)
    for arrays in (
        {"weights": np.ones(3)},
        {"about": np.array([Trap()], dtype=object)},
        {"about": np.frombuffer(b'{"format": "other", "version": 1}', np.uint8)},
        {"about": np.frombuffer(b"[1, 2]", np.uint8)},
    ):
        with path.open("wb") as file:
            np.savez(file, **arrays)
        with pytest.raises(InvalidParameter, match=r"written by Policy\.save, and it"):
            sl.load_policy(path)


def test_another_version_is_refused(saved):
    _, path, _ = saved
    edit(path, lambda about, _: about.update(version=99))
    with pytest.raises(InvalidParameter, match="version 99, and this reads 4"):
        sl.load_policy(path)


def test_a_file_of_the_first_release_is_refused_with_a_way_out(tmp_path):
    """Laid out as version 0.1.0 wrote it: rows and columns, and no judge."""
    about = {"format": "sublevel policy", "version": 2, "rows": [], "variables": []}
    arrays = {"indptr": np.zeros(2, int), "A.data": np.ones(3)}
    arrays["about"] = np.frombuffer(json.dumps(about).encode(), np.uint8)
    with (tmp_path / "old").open("wb") as file:
        np.savez(file, **arrays, checksum=np.frombuffer(_checksum(arrays), np.uint8))
    with pytest.raises(InvalidParameter, match=r"version 2, .* Save the policy again"):
        sl.load_policy(tmp_path / "old")


def place(about):
    """Where the objective meets the outcome."""
    return about["ruler"]["cost"]["plain"][0]


def replaced(name, change):
    """An edit of one array: `name` finds what it is called."""

    def change_one(about, arrays):
        arrays[name(about)] = change(arrays[name(about)])

    return change_one


def both(one, other):
    """One edit after another."""
    return lambda about, arrays: (one(about, arrays), other(about, arrays))


EDITS = {
    "a slot out of range": lambda a, _: a["program"]["slots"].update(
        {"0.0.location": [0, 999]}
    ),
    "a slot turned round": lambda a, _: a["program"]["slots"].update(
        {"0.0.location": [3, 0]}
    ),
    "a slot left out": lambda a, _: a["program"]["slots"].pop("0.0.reach"),
    "slots that overlap": lambda a, _: a["program"]["slots"].update(
        {"0.0.reach": [0, 6]}
    ),
    "slots swapped": lambda a, _: a["program"].update(
        slots={"0.0.reach": [0, 3], "0.0.location": [3, 6]}
    ),
    "a slot of no set": lambda a, _: a["program"].update(
        slots={"0.0.location": [0, 3], "0.7.reach": [3, 6]}
    ),
    "a column out of range": replaced(lambda a: place(a)["columns"], lambda v: v + 77),
    "a negative column": replaced(lambda a: place(a)["columns"], lambda v: v - 1),
    "too few columns": replaced(lambda a: place(a)["columns"], lambda v: v[:-1]),
    "a cone too large": lambda a, _: a["program"]["cones"][0].__setitem__(1, 50),
    "an unknown cone": lambda a, _: a["program"]["cones"][0].__setitem__(0, "cube"),
    "cones swapped": lambda a, _: a["program"].update(
        cones=[["nonneg", 1.0], ["zero", 3.0], ["soc", 4.0]]
    ),
    "half a cone": lambda a, _: a["program"]["cones"][0].__setitem__(1, 0.5),
    "no sense": lambda a, _: a["program"].update(sign=0.5),
    "the other sense": lambda a, _: a["ruler"].update(sense=1.0),
    "an unknown loss": lambda a, _: a["keys"][0]["losses"][0].update(kind="os.system"),
    "another loss": lambda a, _: a["keys"][0]["losses"][0].update(kind="squared"),
    "a key missing": lambda a, _: a.pop("keys"),
    "a place of no key": lambda a, _: place(a)["keys"][0].__setitem__(0, 5),
    "a place too many": lambda a, _: a["ruler"]["cost"]["plain"].append(place(a)),
    "an entry out of range": replaced(
        lambda a: place(a)["keys"][0][2], lambda v: v + 9
    ),
    "an entry twice": replaced(lambda a: place(a)["keys"][0][2], lambda v: 0 * v),
    "a slope cut": replaced(lambda a: place(a)["keys"][0][1][1], lambda v: v[:-1]),
    "a slope of no number": replaced(
        lambda a: place(a)["keys"][0][1][1], lambda v: v * np.nan
    ),
    "half a slope": replaced(lambda a: place(a)["keys"][0][1][1], lambda v: v / 2),
    "a pattern out of range": replaced(
        lambda a: a["program"]["indices"], lambda v: v + 99
    ),
    "a pattern of doubles": replaced(
        lambda a: a["program"]["indices"], lambda v: v.astype(float)
    ),
    "a pattern cut": replaced(lambda a: a["program"]["indptr"], lambda v: v[:-1]),
    "a pattern that ends before it starts": replaced(
        lambda a: a["program"]["A"][3], lambda v: np.append(v[:-1], -1)
    ),
    "signs of another shape": replaced(
        lambda a: a["keys"][0]["nonneg"], lambda v: v[1:]
    ),
    "signs that are no flags": replaced(
        lambda a: a["keys"][0]["nonneg"], lambda v: np.full(3, 7, np.uint8).view(bool)
    ),
    "other signs": replaced(lambda a: a["keys"][0]["nonneg"], lambda v: ~v),
    "an array missing": lambda a, b: b.pop(a["program"]["q"][1]),
    "probes of nothing": lambda a, _: a.update(probe=[1, 1, 1]),
    "a short vector": replaced(lambda a: a["slots"], lambda v: v[:-1]),
    "no constant": replaced(lambda a: a["slots"], lambda v: 0 * v),
    "an infinite number": replaced(lambda a: a["offset"], lambda v: v + np.inf),
    "bounds the wrong way": replaced(
        lambda a: a["ruler"]["upper"], lambda v: np.full(3, -1.0)
    ),
    "a step that looks ahead": lambda a, _: a["ruler"]["objective"][2].__setitem__(
        1, [0, 3]
    ),
    "a step that looks back too far": lambda a, _: a["ruler"]["objective"][
        2
    ].__setitem__(1, [0, -1]),
    "an unknown operation": lambda a, _: a["ruler"]["objective"][2].__setitem__(
        0, "atom"
    ),
    "another operation": lambda a, _: a["ruler"]["certain"][0]["residual"][
        1
    ].__setitem__(0, "max"),
    "a shape that does not fit": lambda a, _: a["ruler"]["objective"][2].__setitem__(
        2, [4]
    ),
    "a shape beyond memory": lambda a, _: a["ruler"]["objective"][0].__setitem__(
        2, [10**12]
    ),
    "a variable beyond memory": lambda a, _: a["variables"][0].update(shape=[10**9]),
    "a leaf of no key": lambda a, _: a["ruler"]["objective"][0].__setitem__(3, [0, 1]),
    "an axis too many": lambda a, _: a["ruler"]["certain"][0]["residual"][
        1
    ].__setitem__(3, [1]),
    "no steps": lambda a, _: a["ruler"].update(objective=[]),
    "a budget of its own": lambda a, _: a["keys"][0].update(budget=0.5),
    "a certificate of its own": lambda a, _: a["keys"][0]["certificate"].update(
        budget=0.5
    ),
    "a budget without its certificate": lambda a, _: a["keys"][0].update(
        budget=0.5, certificate=None
    ),
    "a level in words": lambda a, _: a["keys"][0]["certificate"].update(alpha="low"),
    "a level of no number": lambda a, _: a["keys"][0]["certificate"].update(alpha=7.0),
    "half a program": replaced(lambda a: a["program"]["A"][1], lambda v: v / 2),
    "a fallback of another shape": lambda a, b: a.update(fallback=a["slots"]),
    "no trial": lambda a, _: a.pop("trial"),
    "half a program, and a trial that lets it pass": both(
        replaced(lambda a: a["program"]["A"][1], lambda v: v / 2),
        replaced(lambda a: a["trial"], lambda v: v + [0, np.inf]),
    ),
}


@pytest.mark.parametrize("name", EDITS)
def test_edits_are_refused(saved, name):
    """By the checksum; and where that was forged, because they cannot be."""
    _, path, _ = saved
    raw = path.read_bytes()
    edit(path, EDITS[name], seal=False)
    with pytest.raises(InvalidParameter, match="damaged or edited"):
        sl.load_policy(path)
    path.write_bytes(raw)
    edit(path, EDITS[name])
    with pytest.raises(InvalidParameter, match="something in it cannot be"):
        sl.load_policy(path)


def test_a_file_that_is_not_edited_is_read(saved):
    """What `edit` writes is refused for the edit's sake only."""
    policy, path, X = saved
    edit(path, lambda about, arrays: None)
    same(sl.load_policy(path, {"r": Given()}).decide(X), policy.decide(X))


def test_what_is_written_is_read(tmp_path):
    arrays = {"b": np.arange(3.0), "a": np.zeros((2, 0), dtype=np.int8)}
    write_file(tmp_path / "f", {"x": [1, None]}, arrays)
    about, read = read_file(tmp_path / "f")
    assert about["x"] == [1, None]
    assert {k: v.tolist() for k, v in read.items()} == {"b": [0, 1, 2], "a": [[], []]}


def test_a_model_without_its_name_is_told_how_to_be_given(saved):
    _, path, _ = saved
    with pytest.raises(InvalidParameter, match=r"got Given\. Say models=\{'r'"):
        sl.load_policy(path, Given())
