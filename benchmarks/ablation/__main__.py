"""What does each language rule gain? Switches it off, with and without the models, and compares item by item.

    python -m benchmarks.ablation CLONES DIRECTORY --keep FOLDER [--rules NAME …] [--measures NAME …] [--together]

CLONES holds the repositories of `benchmarks.real_documents` and `benchmarks.cross_lingual`, DIRECTORY the data sets.
FOLDER keeps workspaces, vectors and evidence. Each rule runs over the measures that it can influence, named in
`rules.py`; a rule of some languages only over items in these. Samples have a fixed seed; of the real documents only
the development part is read.

The first table has a row for each figure in which an item changed: its value with the rule, without it, and the
difference with its 95 % bootstrap interval (paired, seeded). A rule "gains" if the interval is above zero. The second
table has a row for each rule. `--together` switches all named rules off at once.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple
from unittest.mock import patch

from benchmarks.ablation.bootstrap import Difference, compare
from benchmarks.ablation.items import Context
from benchmarks.ablation.measures import MEASURES, Scores
from benchmarks.ablation.rules import LANGUAGES, RULES, Rule
from benchmarks.ablation.switches import import_everything, switched_off

ITEMS = 200  # of each set


class Result(NamedTuple):
    rule: Rule
    figure: str
    model: str
    difference: Difference


Baselines = Mapping[tuple[str, str], Scores]


def measure_rule(context: Context, rule: Rule, baselines: Baselines) -> Iterator[Result]:
    checks = {} if "gate" in rule.measures else context.checks  # a rule of the writer does not change the gate
    with switched_off(rule.off), patch.object(context, "checks", checks):
        for (name, model), scores in baselines.items():
            if name in rule.measures:
                for figure, before, after, kinds in scores.pairs(rule.languages):
                    yield Result(rule, figure, model, compare(before, after, kinds))


def join(rules: Sequence[Rule]) -> Rule:
    measures = tuple(name for name in MEASURES if any(name in rule.measures for rule in rules))
    off = {name: value for rule in rules for name, value in rule.off.items()}
    sources = tuple(dict.fromkeys(source for rule in rules for source in rule.sources))
    return Rule(f"{len(rules)} rules together", sources, measures, off, LANGUAGES)


def format_difference(difference: Difference) -> str:
    return f"{difference.mean:+.3f} ({difference.low:+.3f} to {difference.high:+.3f})"


def print_rows(results: Sequence[Result]) -> None:
    for rule, figure, model, difference in results:
        if difference.changed:
            values = f"{difference.before:.3f} | {difference.after:.3f} | {format_difference(difference)}"
            mark = "" if difference.verdict == "nothing" else f"**{difference.verdict}**"
            changed = f"{difference.changed} of {difference.items}"
            print(f"| {rule.name} | {figure} | {model} | {changed} | {values} | {mark} |", flush=True)


def print_summary(rules: Sequence[Rule], results: Sequence[Result]) -> None:
    print("\n| rule | file | lines | figures that moved | largest difference | verdict |\n|---|---|---:|---|---|---|")
    for rule in rules:
        own = [result for result in results if result.rule == rule]
        moved = [result for result in own if result.difference.verdict != "nothing"]
        verdict = " and ".join(dict.fromkeys(result.difference.verdict for result in moved))
        verdict = verdict or ("nothing" if own else "not measured")
        verdict += f", required by {rule.required}" if rule.required else ""
        largest = max(moved or own, key=lambda result: abs(result.difference.mean), default=None)
        shown = f"{largest.figure}, {largest.model}: {format_difference(largest.difference)}" if largest else "–"
        file = rule.file if rule.sources else "–"
        print(f"| {rule.name} | `{file}` | {rule.lines} | {len(moved)} of {len(own)} | {shown} | {verdict} |")


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("clones", type=Path)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--keep", type=Path, help="where to keep workspaces, vectors and evidence")
    parser.add_argument("--rules", nargs="+", choices=[rule.name for rule in RULES], metavar="RULE")
    parser.add_argument("--measures", nargs="+", choices=list(MEASURES), default=list(MEASURES), metavar="MEASURE")
    parser.add_argument("--items", type=int, default=ITEMS, help="of each set, at most")
    parser.add_argument("--together", action="store_true", help="switch the rules off at once")
    return parser.parse_args()


def main() -> None:
    chosen = parse()
    import_everything()
    rules = [rule for rule in RULES if chosen.rules is None or rule.name in chosen.rules]
    rules = [join(rules)] if chosen.together else rules
    wanted = [name for name in chosen.measures if any(name in rule.measures for rule in rules)]
    results: list[Result] = []
    with tempfile.TemporaryDirectory() as scratch:
        keep = chosen.keep or Path(scratch)
        with Context(chosen.clones, chosen.directory, keep, chosen.items).opened() as context:
            print("| rule | figure | models | items changed | with | without | difference | |")
            print("|---|---|---|---|---|---|---|---|", flush=True)
            for name in wanted:
                started = time.perf_counter()
                baselines = {(name, model): Scores(context, name, model) for model in MEASURES[name].models}
                report(f"{name}: prepared in {time.perf_counter() - started:.0f} s")
                for rule in rules:
                    measured = list(measure_rule(context, rule, baselines)) if name in rule.measures else []
                    print_rows(measured)
                    results += measured
                report(f"{name}: done in {time.perf_counter() - started:.0f} s")
    print_summary(rules, results)


def report(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
