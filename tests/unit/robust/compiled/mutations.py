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
