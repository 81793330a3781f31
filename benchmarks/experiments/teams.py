"""Is the promise of a calibrated threshold kept? Simulates teams that decide on answers and calibrate their gate.

    python -m benchmarks.experiments.teams OUTCOMES.jsonl [--teams 1000] [--seed 1] [--languages en ja]

OUTCOMES come from `benchmarks.experiments.outcomes`; gold answers are the decisions. Each team draws answers with
their scores. Those below the threshold in force are all decided, of the others a share is audited. A promise is broken
if more of all answers above the calibrated threshold are wrong than it says. "looks good" is the lowest threshold at
which the labels themselves have no more wrong ones. "per language" calibrates each language by itself. In "2 % wrong",
wrong answers are made rarer.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from benchmarks.experiments.outcomes import CaseOutcome, load_outcomes
from veracity.experiments.calibration import Calibration, Label, calibrate, calibrate_languages, thin
from veracity.settings import ApprovalSettings

CONFIDENCE = 0.95
AUDIT = 0.2
RISKS = (0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5)
ANSWERS = 3000  # of one team
IN_FORCE = ApprovalSettings().threshold
WIDTHS = (12, 10, 26, 10, 22)  # of the columns


def true_risk(pool: Sequence[CaseOutcome], threshold: float) -> float:
    above = [found for found in pool if (found.score or 0.0) >= threshold]
    return sum(not found.right for found in above) / len(above) if above else 0.0


def draw_labels(pool: Sequence[CaseOutcome], answers: int, generator: np.random.Generator) -> list[Label]:
    """Released answers are audited with this probability, held ones are all decided."""
    labels = []
    for index in generator.integers(0, len(pool), answers):
        found = pool[index]
        score = found.score or 0.0
        inclusion = AUDIT if score >= IN_FORCE else 1.0
        if generator.random() < inclusion:
            labels.append(Label(score, not found.right, inclusion, found.language))
    return labels


def looks_good(labels: Sequence[Label], risk: float) -> float | None:
    """The lowest threshold at which the labels have no more wrong ones than the risk."""
    best, wrong = None, 0
    ordered = sorted(thin(labels), key=lambda label: -label.score)
    for number, label in enumerate(ordered, 1):
        wrong += label.wrong
        if wrong / number <= risk and (number == len(ordered) or ordered[number].score < label.score):
            best = label.score
    return best


def true_risk_by_language(pool: Sequence[CaseOutcome], groups: Mapping[str, Calibration]) -> float | None:
    """The risk of all answers above the thresholds of their languages. None if a group has none."""
    found = {name: group.certificate.threshold for name, group in groups.items() if group.certificate}
    if len(found) < len(groups):
        return None
    rest = found.get("", max(found.values()))
    above = [answer for answer in pool if (answer.score or 0.0) >= found.get(answer.language, rest)]
    return sum(not answer.right for answer in above) / len(above) if above else 0.0


def with_error(pool: Sequence[CaseOutcome], rate: float, generator: np.random.Generator) -> list[CaseOutcome]:
    """The answers above the threshold in force, with wrong ones left out or repeated until this share is wrong."""
    above = [found for found in pool if (found.score or 0.0) >= IN_FORCE]
    right, wrong = ([found for found in above if found.right is is_right] for is_right in (True, False))
    wanted = round(20 * len(right) * rate / (1 - rate))
    return right * 20 + [wrong[index] for index in generator.integers(0, len(wrong), wanted)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("outcomes", type=Path)
    parser.add_argument("--teams", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--languages", nargs="+", default=["en", "zh", "ja"], help="whose answers count")
    chosen = parser.parse_args()
    generator = np.random.default_rng(chosen.seed)
    pool = [
        found
        for found in load_outcomes(chosen.outcomes)
        if found.variant == "shipped" and found.score is not None and found.language in chosen.languages
    ]
    wrong, above = true_risk(pool, 0), true_risk(pool, IN_FORCE)
    print(f"{len(pool)} answers; {wrong:.3f} of all are wrong, {above:.3f} of those above {IN_FORCE}")
    print(
        f"\n{chosen.teams} teams of {ANSWERS} answers, {AUDIT:.0%} of the released ones audited, {CONFIDENCE:.0%} sure"
    )
    print(
        f"{'promised risk':>14}{'certified':>12}{'broken':>10}{'per language: certified':>26}{'broken':>10}"
        f"{'looks good: broken':>22}"
    )
    for risk in RISKS:
        certified = broken = separate = separate_broken = fooled = 0
        for _ in range(chosen.teams):
            labels = draw_labels(pool, ANSWERS, generator)
            found = calibrate(labels, IN_FORCE, risk, CONFIDENCE).certificate
            certified += found is not None
            broken += found is not None and true_risk(pool, found.threshold) > risk
            own = true_risk_by_language(pool, calibrate_languages(labels, IN_FORCE, risk, CONFIDENCE))
            separate += own is not None
            separate_broken += own is not None and own > risk
            naive = looks_good(labels, risk)
            fooled += naive is not None and true_risk(pool, naive) > risk
        shares = [number / chosen.teams for number in (certified, broken, separate, separate_broken, fooled)]
        print(f"{risk:14.2f}" + "".join(f"{share:{width}.3f}" for share, width in zip(shares, WIDTHS, strict=True)))
    rare = with_error(pool, 0.02, generator)
    print(f"\n500 audited answers, {true_risk(rare, 0):.3f} wrong: 5 % is certified for", end=" ")
    audits = [[Label(rare[i].score or 0.0, not rare[i].right, AUDIT) for i in generator.integers(0, len(rare), 500)]
              for _ in range(chosen.teams)]  # fmt: skip
    reached = sum(calibrate(labels, IN_FORCE, 0.05, CONFIDENCE).certificate is not None for labels in audits)
    print(f"{reached / chosen.teams:.3f} of the teams")


if __name__ == "__main__":
    main()
