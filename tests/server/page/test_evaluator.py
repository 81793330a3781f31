"""The evaluator view in a real browser: the active metrics, and the form to try them."""

import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.runs.conftest import MakeEngine
from tests.server.conftest import OpenPage, Serve, Served, Watched

expect.set_options(timeout=90_000)  # the machine may be busy

METRIC = '''
"""A metric of a workspace."""
from veracity.evaluator import BaseMetric


class Brief(BaseMetric):
    """<b>Short</b> is good."""

    def evaluate(self, request):
        return self.score(50, "<img src=x onerror=alert(1)>")
'''


@pytest.fixture
def served(serve: Serve, engine_with: MakeEngine, root: Path) -> Served:
    (root / "metrics").mkdir(exist_ok=True)
    (root / "metrics" / "brief.py").write_text(METRIC)
    return serve(engine_with(approval={"policy": "ask", "threshold": 0.7}))


def _evaluator(page: Page) -> Page:
    expect(page.locator(".evaluator-metric").first).to_be_visible()
    return page


def _card(page: Page, name: str) -> Any:
    return page.locator(".evaluator-metric", has=page.get_by_role("heading", name=name, exact=True))


def _score(page: Page) -> Any:
    page.get_by_role("button", name="Score it").click()
    return page.get_by_role("region", name="Result")


def test_active_metrics_and_the_policy_are_shown(served: Served, open_page: OpenPage) -> None:
    page = _evaluator(open_page(served, "#/evaluator", token=served.token("asker")))
    expect(page.get_by_text("Answers that score 70 or more are sent. Below that, a person decides")).to_be_visible()
    expect(page.get_by_text("no judge model is configured")).to_be_visible()
    expect(_card(page, "QuestionCoverage")).to_contain_text("Weight 40%")
    expect(_card(page, "Groundedness")).to_contain_text("local check")

    expect(_card(page, "Coverage")).not_to_be_visible()
    page.get_by_text("Available, not active").click()
    expect(_card(page, "Coverage")).to_contain_text("judged by a model")
    expect(_card(page, "Brief")).to_contain_text("<b>Short</b> is good.")


def test_a_rejected_configuration_is_shown(served: Served, open_page: OpenPage, root: Path) -> None:
    page = _evaluator(open_page(served, "#/evaluator"))
    expect(page.locator(".evaluator-warnings")).to_have_count(0)
    (root / "configs").mkdir(exist_ok=True)
    (root / "configs" / "evaluator.toml").write_text('[[metrics]]\nname = "NoSuchMetric"\n')
    page.reload()
    expect(page.get_by_role("alert")).to_contain_text("NoSuchMetric")
    expect(_card(page, "Groundedness")).to_contain_text("Weight 30%")  # the last valid configuration


@pytest.mark.parametrize(
    ("locale", "verdict"),
    [
        ("en-GB", "A person would decide: 64 is below 70."),
        ("zh-CN", "会由人决定：65 低于 70。"),
        ("ja-JP", "人が判断します：65 点は 70 点未満です。"),
    ],
)
def test_the_example_is_scored_in_the_language_of_the_page(
    served: Served, open_page: OpenPage, locale: str, verdict: str
) -> None:
    page = _evaluator(open_page(served, "#/evaluator", locale=locale, width=320, height=640))
    page.locator(".evaluator-try-head button").first.click()
    page.locator(".evaluator-form button.primary").click()
    expect(page.get_by_text(verdict)).to_be_visible()
    expect(page.locator(".evaluator-result .scores-metric")).to_have_count(3)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_the_form_survives_errors_and_other_views(served: Served, open_page: OpenPage, watched: Watched) -> None:
    watched.allowed.append("400")
    page = _evaluator(open_page(served, "#/evaluator"))
    result = _score(page)
    expect(page.get_by_role("alert")).to_contain_text("Enter a question.")
    page.get_by_label("Question").fill("When is parking free?")
    page.get_by_role("textbox", name="Answer").fill("Parking is free on Sundays [1].")
    expect(page.get_by_role("alert")).to_have_count(0)

    _score(page)  # the active metrics need evidence
    expect(page.get_by_role("alert")).to_contain_text("context")
    page.get_by_role("link", name="Documents").click()
    page.get_by_role("link", name="Evaluator").click()
    expect(page.get_by_label("Question")).to_have_value("When is parking free?")
    for press in ("Fill in an example", "Clear"):
        page.get_by_role("button", name=press).click()
        expect(page.get_by_label("Question")).not_to_have_value("When is parking free?")
        page.get_by_role("button", name="Undo").click()
        expect(page.get_by_label("Question")).to_have_value("When is parking free?")
        page.get_by_role("textbox", name="Answer").press("Space")
    page.get_by_label("Passage 1", exact=True).fill("Parking is free on Sundays.")
    _score(page)
    expect(result).to_contain_text("By its score it would be sent: 88 is not below 70.")
    page.get_by_label("Question").fill("When is parking free of charge?")
    expect(result).to_contain_text("score again")


def test_chosen_metrics_have_equal_weights(served: Served, open_page: OpenPage) -> None:
    page = _evaluator(open_page(served, "#/evaluator"))
    page.get_by_role("button", name="Fill in an example").click()
    page.get_by_label("those I choose, with equal weights").check()
    for name in ("CitationAccuracy", "Groundedness", "QuestionCoverage"):
        page.get_by_role("checkbox", name=name).uncheck()
    result = _score(page)
    expect(page.get_by_role("alert")).to_have_text("Choose at least one metric.")
    page.get_by_role("checkbox", name="QuestionCoverage").check()
    page.get_by_role("checkbox", name="Brief").check()
    _score(page)
    expect(result).to_contain_text("By its score it would be sent: 75 is not below 70.")  # (100 + 50) / 2
    expect(result).to_contain_text("<img src=x onerror=alert(1)>")
    assert page.locator("main img").count() == 0


def test_passages_are_added_removed_and_split(served: Served, open_page: OpenPage) -> None:
    page = _evaluator(open_page(served, "#/evaluator"))
    page.get_by_label("Passage 1", exact=True).fill("The gate opens at seven.\n\n停车场周日免费。\n \n駐車は無料です。")
    page.get_by_role("button", name="Split into 3 passages").click()
    expect(page.get_by_label("Passage 2", exact=True)).to_have_value("停车场周日免费。")
    page.get_by_role("button", name="Add a passage").click()
    expect(page.get_by_label("Passage 4", exact=True)).to_be_focused()
    page.get_by_role("button", name="Remove passage 2").click()
    expect(page.get_by_label("Passage 2", exact=True)).to_have_value("駐車は無料です。")
    expect(page.get_by_label("Passage 4", exact=True)).to_have_count(0)
    page.get_by_label("Passage 1", exact=True).fill("\n\n".join(f"Rule {number}." for number in range(60)))
    page.get_by_role("button", name="Split into 48 passages").click()  # there are two more, and 50 is the limit
    expect(page.get_by_label("Passage 48", exact=True)).to_have_value(re.compile("Rule 47.*Rule 59", re.DOTALL))
    expect(page.get_by_label("Passage 50", exact=True)).to_have_value("")


def test_control_enter_submits_except_during_composition(served: Served, open_page: OpenPage) -> None:
    page = _evaluator(open_page(served, "#/evaluator"))
    page.get_by_role("button", name="Fill in an example").click()
    sent: list[str] = []
    page.on("request", lambda request: sent.append(request.url) if request.url.endswith("/evaluate") else None)
    question = page.get_by_label("Question")
    composed = {"key": "Enter", "ctrlKey": True, "isComposing": True, "bubbles": True}
    question.dispatch_event("keydown", composed)
    question.dispatch_event("keydown", {**composed, "isComposing": False, "keyCode": 229})
    question.press("Enter")
    page.wait_for_timeout(200)
    assert sent == []
    question.press("Control+Enter")
    expect(page.get_by_role("region", name="Result")).to_be_visible()
    assert len(sent) == 1
