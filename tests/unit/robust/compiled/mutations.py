"""Policy files, changed: bytes, descriptions and arrays, sealed again or not."""

import json

import numpy as np

from sublevel.robust.files.policy_file import _checksum


def edit(path, change, seal=True):
    """Change the description and the arrays of a file in place.

    Without `seal` the old checksum stays.
    """
    with np.load(path) as file:
        arrays = {name: file[name] for name in file.files}
    about = json.loads(arrays.pop("about").tobytes())
    checksum = arrays.pop("checksum")
    change(about, arrays)
    arrays["about"] = np.frombuffer(json.dumps(about).encode(), np.uint8)
    if seal:
        checksum = np.frombuffer(_checksum(arrays), np.uint8)
    with path.open("wb") as file:
        np.savez(file, **arrays, checksum=checksum)


def flip_bytes(path, rng):
    """Some bytes of the file become others."""
    raw = bytearray(path.read_bytes())
    for at in rng.integers(len(raw), size=rng.integers(1, 4)):
        raw[at] ^= int(rng.integers(1, 256))
    path.write_bytes(bytes(raw))


def cut_or_grow(path, rng):
    """The file ends early, or goes on."""
    raw = path.read_bytes()
    at = int(rng.integers(len(raw)))
    path.write_bytes(raw[:at] if rng.random() < 0.5 else raw + raw[at:])


def edit_description(path, rng):
    """One value of the description becomes another, and the file is sealed again."""
    edit(path, lambda about, _: _edit_value(about, rng))


def edit_array(path, rng):
    """One array becomes another, and the file is sealed again."""

    def change(_, arrays):
        name = str(rng.choice(sorted(arrays)))
        values = arrays[name]
        options = [*ANY, *(NUMBERS if values.dtype.kind in "fiu" else ())]
        with np.errstate(all="ignore"):
            arrays[name] = options[rng.integers(len(options))](values, rng)

    edit(path, change)


def edit_twice(path, rng):
    """Both."""
    edit_description(path, rng)
    edit_array(path, rng)


MUTATIONS = (flip_bytes, cut_or_grow, edit_description, edit_array, edit_twice)


def _at_one(values, rng, number):
    changed = values.copy()
    if changed.size:
        with np.errstate(all="ignore"):
            changed.ravel()[rng.integers(changed.size)] = number
    return changed


ANY = (
    lambda v, rng: v[:-1] if v.ndim else v[None],
    lambda v, rng: np.append(v, v),
    lambda v, rng: v[None],
    lambda v, rng: v.astype(np.float32),
    lambda v, rng: v.astype(np.int8),
    lambda v, rng: v.astype(np.uint64),
    lambda v, rng: v.astype(">f8"),
    lambda v, rng: v.astype(complex),
    lambda v, rng: v.astype("U5"),
    lambda v, rng: np.zeros(0),
    lambda v, rng: np.zeros((0, 3), dtype=v.dtype),
    lambda v, rng: v.ravel()[::-1].reshape(v.shape),
    lambda v, rng: np.zeros(v.shape, dtype=[("a", "f8")]),
    lambda v, rng: np.full(v.shape, np.datetime64("2020")),
)
NUMBERS = (
    lambda v, rng: _at_one(v, rng, -1),
    lambda v, rng: _at_one(v, rng, 2**31 - 1),
    lambda v, rng: _at_one(v, rng, 100),
    lambda v, rng: _at_one(v, rng, 0),
    lambda v, rng: _at_one(v, rng, 1),
    lambda v, rng: v + 1,
    lambda v, rng: v - 1,
    lambda v, rng: v * 2,
    lambda v, rng: (v / 2).astype(v.dtype),
    lambda v, rng: -v.astype(np.int64) if v.dtype.kind == "u" else -v,
    lambda v, rng: v.astype(float) * np.nan,
    lambda v, rng: v.astype(float) + np.inf,
    lambda v, rng: _at_one(v.astype(float), rng, np.nan),
    lambda v, rng: _at_one(v.astype(float), rng, 1e308),
)
VALUES = (
    None, True, False, -1, 0, 1, 2, 7, 10**9, 10**12, 10**30, 0.5, -1.0, 1e308,
    float("nan"), float("inf"), "", "a0", "a1", "inf", "nan", "x" * 1000, "sum", "exp",
    "atom", "__class__", "\x00", [], [0], [-1], [10**12], [[]], {}, {"a": 1},
    {"array": "a0"}, {"sparse": []}, {"axes": [0, 0]}, {"number": "inf"},
)  # fmt: skip


def _edit_value(about, rng):
    """Go down at random, and change what is there."""
    here = about
    while True:
        keys = sorted(here) if isinstance(here, dict) else range(len(here))
        key = keys[rng.integers(len(keys))]
        below = here[key]
        if isinstance(below, dict | list) and below and rng.random() < 0.9:
            here = below
            continue
        break
    how = rng.integers(6)
    if how == 0:
        del here[key]
    elif how == 1 and isinstance(here, list):
        here.insert(key, here[rng.integers(len(here))])
    elif how == 2 and isinstance(below, int | float) and not isinstance(below, bool):
        here[key] = below + (1, -1, below)[rng.integers(3)]
    elif how == 3 and isinstance(below, list):
        here[key] = below[::-1]
    elif how == 4:
        other = keys[rng.integers(len(keys))]
        here[key], here[other] = here[other], here[key]
    else:
        here[key] = VALUES[rng.integers(len(VALUES))]
