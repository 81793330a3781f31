"""How often is a verdict wrong, and how often is it missed? Simulates comparisons of experiments.

    python -m benchmarks.experiments.verdicts OUTCOMES.jsonl [--comparisons 2000] [--seed 1]

OUTCOMES come from `benchmarks.experiments.outcomes`. A/A: cases are drawn with both outcomes, which are swapped at
random, so that there is no difference but the same cases change. "clusters" has five copies of each case, as
paraphrases of one question would be; "as if independent" ignores that. A/B: the outcomes are not swapped. The power is
compared with that of the exact McNemar test, computed by `scipy.stats`.
"""

from __future__ import annotations

import argparse
import math
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binomtest

from benchmarks.experiments.outcomes import load_outcomes
from veracity.experiments.paired import compare_passes

SIZES = (50, 100, 200, 400)
COPIES = 5
MARGIN = 0.05
DIFFERENT = ("better", "worse")

Pairs = NDArray[np.float64]


def load_pairs(file: Path) -> Pairs:
    outcomes = load_outcomes(file)
    by_variant: dict[str, dict[str, float]] = {}
    for found in outcomes:
        by_variant.setdefault(found.variant, {})[f"{found.set} {found.id}"] = float(found.right)
    b, a = by_variant.values()  # as shipped is the better one
    return np.array([(a[name], b[name]) for name in a if name in b])


def draw(pairs: Pairs, n: int, generator: np.random.Generator, *, swap: bool) -> Pairs:
    drawn = pairs[generator.integers(0, len(pairs), n)]
    if swap:
        swapped = generator.random(n) < 0.5
        drawn[swapped] = drawn[swapped][:, ::-1]
    return drawn


def verdict(drawn: Pairs, clusters: list[str]) -> str:
    return compare_passes(drawn[:, 0].tolist(), drawn[:, 1].tolist(), clusters, MARGIN).verdict


def false_verdicts(
    pairs: Pairs, n: int, comparisons: int, generator: np.random.Generator
) -> tuple[float, float, float]:
    """The shares of false verdicts for independent cases, for clusters, and for clusters as if independent."""
    counts = np.zeros(3)
    for _ in range(comparisons):
        drawn = draw(pairs, n, generator, swap=True)
        names = [str(number) for number in range(n)]
        some = np.repeat(draw(pairs, n // COPIES, generator, swap=True), COPIES, axis=0)
        clusters = [str(number // COPIES) for number in range(len(some))]
        found = verdict(drawn, names), verdict(some, clusters), verdict(some, names[: len(some)])
        counts += [one in DIFFERENT for one in found]
    independent, clustered, naive = counts / comparisons
    return float(independent), float(clustered), float(naive)


def power(pairs: Pairs, n: int, comparisons: int, generator: np.random.Generator) -> tuple[float, float]:
    """The shares of right verdicts, ours and McNemar's."""
    own = exact = 0
    for _ in range(comparisons):
        drawn = draw(pairs, n, generator, swap=False)
        own += verdict(drawn, [str(number) for number in range(n)]) == "better"
        gained, lost = int((drawn[:, 1] > drawn[:, 0]).sum()), int((drawn[:, 1] < drawn[:, 0]).sum())
        exact += gained > lost and binomtest(gained, gained + lost).pvalue < 0.05
    return own / comparisons, exact / comparisons


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("outcomes", type=Path)
    parser.add_argument("--comparisons", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args()
    pairs, generator = load_pairs(chosen.outcomes), np.random.default_rng(chosen.seed)
    rates, changed = pairs.mean(axis=0), float((pairs[:, 0] != pairs[:, 1]).mean())
    print(f"{len(pairs)} cases; A {rates[0]:.3f}, B {rates[1]:.3f} right; {changed:.3f} of the cases change")
    limit = 0.05 + 1.96 * math.sqrt(0.05 * 0.95 / chosen.comparisons)
    print(f"\nA/A, {chosen.comparisons} comparisons each: false verdicts (at most .05, within error {limit:.3f})")
    print(f"{'n':>6}{'independent':>14}{'clusters of 5':>16}{'as if independent':>20}")
    for n in SIZES:
        independent, clustered, naive = false_verdicts(pairs, n, chosen.comparisons, generator)
        print(f"{n:6}{independent:14.3f}{clustered:16.3f}{naive:20.3f}")
    print("\nA/B: B is called better")
    print(f"{'n':>6}{'ours':>14}{'exact McNemar':>16}{'ratio':>10}")
    for n in SIZES:
        own, exact = power(pairs, n, chosen.comparisons, generator)
        print(f"{n:6}{own:14.3f}{exact:16.3f}{own / exact if exact else 1:10.2f}")


if __name__ == "__main__":
    main()
