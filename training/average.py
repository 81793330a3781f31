"""Averages the weights of networks that were trained from the same start: often better than each of them.

python -m training.average OUT/average OUT/reader_1 OUT/reader_2
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from training.weights import Weights, load_parts, save_parts


def average(networks: list[Weights]) -> Weights:
    first, *others = networks
    if any(_shapes(other) != _shapes(first) for other in others):
        raise SystemExit("The networks have different shapes: average networks that were trained from the same start.")
    return {name: np.mean([network[name] for network in networks], axis=0) for name in first}


def _shapes(network: Weights) -> dict[str, tuple[int, ...]]:
    return {name: value.shape for name, value in network.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path, help="prefix of the weights to write: OUT.0.npz …")
    parser.add_argument("prefixes", type=Path, nargs="+")
    arguments = parser.parse_args()
    save_parts(average([load_parts(prefix) for prefix in arguments.prefixes]), arguments.out)


if __name__ == "__main__":
    main()
