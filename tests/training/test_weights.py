"""Weights in files, and their average."""

from pathlib import Path

import numpy as np
import pytest
from training.average import average
from training.weights import count_layers, load_parts, save_parts

LAYERS = {f"encoder.layer.{number}.attention.output.dense.bias": np.full(4, float(number)) for number in range(3)}


def test_the_average_is_that_of_each_weight(tmp_path: Path) -> None:
    for name, factor in (("a", 1.0), ("b", 3.0)):
        save_parts({key: factor * value for key, value in LAYERS.items()}, tmp_path / name)
    found = average([load_parts(tmp_path / name) for name in ("a", "b")])
    assert count_layers(found) == 3
    assert all(np.array_equal(found[key], 2 * value) for key, value in LAYERS.items())


def test_networks_of_another_shape_are_refused() -> None:
    with pytest.raises(SystemExit, match="different shapes"):
        average([LAYERS, {key: value for key, value in LAYERS.items() if "layer.2" not in key}])
