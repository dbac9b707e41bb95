"""Prints messages of odd_msgs/msg/Everything as JSON, a line each, read by generated numpy views.

Usage: views.py FOLDER FILE...; FOLDER holds the generated package `generated`.
"""

import json
import math
import sys

import numpy as np

sys.path.insert(0, sys.argv[1])
from generated import odd_msgs  # noqa: E402
from generated.crossdock_flat import FlatError  # noqa: E402


def exact(value):
    """Numbers that JSON lacks as texts."""
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else ("Infinity" if value > 0 else "-Infinity")
    if isinstance(value, dict):
        return {name: exact(part) for name, part in value.items()}
    if isinstance(value, list):
        return [exact(part) for part in value]
    return value


for name in sys.argv[2:]:
    block = np.fromfile(name, dtype="u1")
    message = odd_msgs.Everything(block)
    print(json.dumps(exact(message.to_dict())))
    # Arrays are views of the block.
    for array in (message.large, message.small, message.to_numpy()["flags"]):
        assert np.shares_memory(array, block)
    for array in (message.shorts, message.plain_records.to_numpy(), message.points.to_numpy()):
        assert len(array) == 0 or np.shares_memory(array, block)
    assert message.to_numpy()["header"]["stamp"]["sec"] == message.header.stamp.sec
    assert [it["a"] for it in message.plain_records.to_numpy()] == [
        it.a for it in message.plain_records
    ]
    # A reference that leads outside is refused when its field is read.
    damaged = block.copy()
    at = odd_msgs.Everything.DTYPE.fields["text"][1]
    damaged[at : at + 16] = np.frombuffer(np.array([len(block), 1 | 2 << 32], "<u8"), "u1")
    message = odd_msgs.Everything(damaged)
    assert message.self == odd_msgs.Everything(block).self
    try:
        message.text
    except FlatError as error:
        assert "outside" in str(error)
    else:
        raise AssertionError("a reference outside of the block was followed")
    try:
        odd_msgs.Everything(block[:100])
    except FlatError:
        pass
    else:
        raise AssertionError("a block that is too short was accepted")
