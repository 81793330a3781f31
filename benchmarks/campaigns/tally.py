"""What came of a kill campaign, counted and printed."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

MOST_TOLD = 20  # violations that are printed


@dataclass
class Tally:
    at_boundaries: Counter[str] = field(default_factory=Counter)
    at_moments: Counter[str] = field(default_factory=Counter)  # by the last boundary that was passed
    jobs: Counter[str] = field(default_factory=Counter)
    unharmed: int = 0
    tried_again: int = 0
    recoveries: list[float] = field(default_factory=list)
    taken_up: int = 0
    violations: list[str] = field(default_factory=list)
    numbers: dict[str, object] = field(default_factory=dict)

    @property
    def kills(self) -> int:
        return self.at_boundaries.total() + self.at_moments.total()


def print_tally(tally: Tally, imports: float) -> None:
    names = sorted(tally.at_boundaries | tally.at_moments, key=lambda name: (name.split()[-1], name))
    print("\n| killed here, or after this at a random moment | at the boundary | at a moment |\n|---|---:|---:|")
    for name in names:
        print(f"| {name} | {tally.at_boundaries[name]} | {tally.at_moments[name]} |")
    print(f"| **all** | **{tally.at_boundaries.total()}** | **{tally.at_moments.total()}** |")
    slowest = max(tally.recoveries, default=0.0)
    middle = sorted(tally.recoveries)[len(tally.recoveries) // 2] if tally.recoveries else 0.0
    told = {
        "kills": tally.kills,
        "processes": counted(tally.jobs),
        "processes that ended unharmed": tally.unharmed,
        **tally.numbers,
        "recoveries": f"{len(tally.recoveries)}, which took up {tally.taken_up} runs",
        "slowest recovery, opening included": f"{slowest:.2f} s (median {middle:.2f} s; imports {imports:.1f} s, once)",
        "violations": len(tally.violations),
    }
    print("\n| | |\n|---|---|")
    for name, value in told.items():
        print(f"| {name} | {value} |")
    for violation in tally.violations[:MOST_TOLD]:
        print(f"VIOLATION {violation}")


def counted(counter: Counter[str]) -> str:
    return ", ".join(f"{count} {name}" for name, count in sorted(counter.items()))
