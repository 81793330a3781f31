"""The benchmark of language rules: switching a rule off, and the interval of a difference."""

import re
from pathlib import Path

import pytest
from benchmarks.ablation.bootstrap import compare, equal_weights
from benchmarks.ablation.measures import MEASURES
from benchmarks.ablation.rules import RULES, Rule
from benchmarks.ablation.switches import count_lines, find, import_everything, switched_off

from veracity.agents.extract import keywords


def test_rules_have_names_of_their_own_and_known_measures() -> None:
    assert len({rule.name for rule in RULES}) == len(RULES)
    assert all(rule.required or rule.measures for rule in RULES)
    assert {name for rule in RULES for name in rule.measures} <= MEASURES.keys()


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_a_rule_is_switched_off_and_on_again(rule: Rule) -> None:
    import_everything()
    assert all(count_lines(source) for source in rule.sources)
    before = {name: find(name) for name in rule.off}
    with switched_off(rule.off):
        assert all(find(name) is not before[name] for name in rule.off)
    assert all(find(name) is before[name] for name in rule.off)


def test_a_name_is_replaced_wherever_it_was_imported() -> None:
    before, importing = find("agents/follow_up/standalone:make_standalone"), "agents/local_router:make_standalone"
    with switched_off({"agents/follow_up/standalone:make_standalone": len}):
        assert find(importing) is find("agents/follow_up/standalone:make_standalone") is len
    assert find(importing) is before


def test_caches_do_not_outlive_a_rule() -> None:
    wide = keywords._chinese_pattern("年假")
    with switched_off({"agents/extract/keywords:KIND_NAMES": re.compile("(?!)")}):
        assert keywords._chinese_pattern.cache_info().currsize == 0
    assert keywords._chinese_pattern("年假") == wide


def test_the_lines_of_a_definition_are_counted_with_its_comment() -> None:
    assert count_lines("agents/follow_up/dependence:MAX_LENGTH") == 1
    assert count_lines("agents/extract/quotes:_KEY_PATH") == 2  # with the comment above it
    assert count_lines("agents/links") == len(Path(find("agents/links:__file__")).read_text("utf-8").splitlines())


def test_kinds_weigh_the_same() -> None:
    assert equal_weights(["a", "a", "a", "b"]) == pytest.approx([2 / 3, 2 / 3, 2 / 3, 2])
    assert compare([1, 1, 1, 0], [1, 1, 1, 1], ["a", "a", "a", "b"]).mean == pytest.approx(-0.5)


def test_an_interval_is_repeatable_and_needs_more_than_a_few_items() -> None:
    kinds = ["a"] * 100
    often, seldom = [float(place >= 20) for place in range(100)], [float(place >= 2) for place in range(100)]
    assert compare([1.0] * 100, often, kinds) == compare([1.0] * 100, often, kinds)
    assert compare([1.0] * 100, often, kinds).verdict == "gains"
    assert compare(often, [1.0] * 100, kinds).verdict == "harms"
    assert compare([1.0] * 100, seldom, kinds).verdict == "nothing"
    assert compare(often, often, kinds) == (0.8, 0.8, 0.0, 0.0, 100, 0)
