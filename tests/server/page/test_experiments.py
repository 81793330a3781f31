"""Experiments in a real browser: the list, one experiment, and two side by side (SPEC X6)."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.runs.conftest import MakeEngine
from tests.runs.scripts import QUESTION
from tests.server.conftest import OpenPage, Serve, Served
from tests.server.routes.test_experiments import run_experiments


@pytest.fixture
def served(serve: Serve, engine_with: MakeEngine, root: Path) -> Served:
    engine = engine_with()
    run_experiments(engine, root)
    return serve(engine)


def test_two_experiments_are_chosen_and_compared(served: Served, open_page: OpenPage) -> None:
    page = open_page(served, "#/evaluator", token=served.token("approver"))
    page.get_by_role("link", name="Experiments").click()
    compare = page.get_by_role("button", name="Compare")
    expect(compare).to_be_disabled()
    page.get_by_role("checkbox", name="Choose before").check()
    page.get_by_role("checkbox", name="Choose after").check()
    expect(page.get_by_text("after against before")).to_be_visible()
    compare.click()
    expect(page).to_have_url(re.compile("#/experiments/after/before$"))
    expect(page.locator(".experiments-verdict")).to_contain_text("Cannot tell whether after is better than before.")
    expect(page.get_by_text("What differs: settings, documents.")).to_be_visible()
    expect(page.get_by_role("heading", name="Regressions: 1")).to_be_visible()
    page.get_by_role("button", name="Show both answers").click()
    expect(page.locator(".experiments-run").first).to_contain_text("25 days of paid annual leave")
    page.locator(".experiments-run").first.get_by_role("link", name="Open the run").click()
    expect(page.get_by_text(QUESTION).first).to_be_visible()


def test_an_experiment_shows_measures_and_cases_as_text(served: Served, open_page: OpenPage) -> None:
    page = open_page(served, "#/experiments/before", locale="ja-JP", width=390)
    expect(page.get_by_role("heading", name="before")).to_be_visible()
    expect(page.locator(".experiments-verdict")).to_contain_text("3 件のうち")
    expect(page.get_by_role("row", name=re.compile("^合格 "))).to_contain_text("Wilson")
    expect(page.get_by_text("<img>", exact=True)).to_be_visible()
    assert page.locator("main img").count() == 0
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_askers_find_no_way_to_experiments(served: Served, open_page: OpenPage) -> None:
    page = open_page(served, "#/evaluator", token=served.token("asker"), locale="zh-CN")
    expect(page.locator(".evaluator-metric").first).to_be_visible()
    expect(page.get_by_role("link", name="实验")).to_have_count(0)
    page.goto(f"{served.url}/#/experiments")
    expect(page.get_by_text("只有审批人可以查看实验。")).to_be_visible()
