"""No view violates WCAG 2.2 A and AA or best practice (axe-core), logs an error, or makes a request off its origin.

A view is one entry of VIEWS: its address, and what to do before it is examined.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from playwright.sync_api import Page, expect

from tests.runs.scripts import DOCUMENTS, GOOD, PASS, QUESTION, UNCITED, judged
from tests.server.conftest import OpenPage, Served, Watched, serving
from tests.server.routes.test_experiments import run_experiments
from tests.waiting import PATIENT
from veracity.engine import Veracity
from veracity.models import Outcome
from veracity.settings import Settings
from veracity.testing import ScriptedLLM

AXE = Path(__file__).parents[3] / "node_modules" / "axe-core" / "axe.min.js"
TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
# Where axe-core cannot tell the background, the contrast is computed from the colours of the elements around the text.
EXAMINE = """async (tags) => {
  const canvas = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
  const luminance = (data) => [0.2126, 0.7152, 0.0722].reduce((sum, weight, at) => {
    const part = data[at] / 255;
    return sum + weight * (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
  }, 0);
  const paint = (colours) => {
    for (const colour of colours) { canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1); }
    return luminance(canvas.getImageData(0, 0, 1, 1).data);
  };
  const contrast = (element) => {
    const grounds = ["Canvas"];
    for (let around = element; around; around = around.parentElement) {
      grounds.splice(1, 0, getComputedStyle(around).backgroundColor);
    }
    const [dark, light] = [paint(grounds), paint([...grounds, getComputedStyle(element).color])].sort((a, b) => a - b);
    return (light + 0.05) / (dark + 0.05);
  };
  const { violations, incomplete } = await axe.run(document, { runOnly: tags });
  const unclear = incomplete.filter(({ id }) => id === "color-contrast").flatMap(({ nodes }) => nodes);
  return [
    ...violations.flatMap(({ id, nodes }) => nodes.map(({ target }) => `${id}: ${target.join(" ")}`)),
    ...unclear.map(({ target }) => [contrast(document.querySelector(target.join(" "))), target.join(" ")])
      .filter(([ratio]) => ratio < 4.5).map(([ratio, target]) => `contrast ${ratio.toFixed(2)}: ${target}`),
  ];
}"""
WAITING = "May leave be carried over?"


def seen(selector: str) -> Callable[[Page], None]:
    return lambda page: expect(page.locator(selector).first).to_be_visible()


def open_source(page: Page) -> None:
    page.locator("button.answer-cite").first.click()
    seen(".source mark")(page)


def show_foot(page: Page) -> None:
    """The bar below the answer covers a part of whatever is behind it, unless the answer is scrolled to its end."""
    seen(".ask-foot")(page)
    page.evaluate("scrollTo(0, document.documentElement.scrollHeight)")


def open_details(page: Page) -> None:
    for summary in page.locator("main summary:visible").all():
        summary.click()


def open_approval(page: Page) -> None:
    page.locator(".inbox-row").first.click()
    seen(".inbox-approval")(page)


def search(page: Page) -> None:
    page.get_by_role("tab", name="Try a search").click()
    page.get_by_label("Question to search for").fill("annual leave")
    page.keyboard.press("Enter")
    seen(".documents-passage")(page)


def read_document(page: Page) -> None:
    page.get_by_role("tab", name="All documents").click()
    page.get_by_role("button", name="Travel", exact=True).click()
    seen(".documents-reader .documents-text")(page)


def end_session(page: Page) -> None:
    page.context.clear_cookies()
    page.evaluate("location.hash = '#/conversations'")
    seen("[role=dialog] #token")(page)


def sign_out(page: Page) -> None:
    page.reload()
    seen("[role=main] #token")(page)


class View(NamedTuple):
    route: str
    prepare: Callable[[Page], None]


VIEWS = {
    "ask": View("#/", seen("textarea")),
    "answer": View("#/c/answered", show_foot),
    "answer with a source": View("#/c/answered", open_source),
    "answer that waits": View("#/c/waiting", seen(".answer")),
    "details of an answer": View("#/c/waiting", open_details),
    "conversations": View("#/conversations", seen("main li")),
    "inbox": View("#/inbox", seen(".inbox-row")),
    "approval": View("#/inbox", open_approval),
    "evaluator": View("#/evaluator", seen(".evaluator-metric")),
    "experiments": View("#/experiments", seen("main table, main li")),
    "experiment": View("#/experiments/before", seen(".experiments-verdict")),
    "comparison": View("#/experiments/after/before", seen(".experiments-verdict")),
    "unknown address": View("#/nowhere", seen(".empty")),
    "documents with an upload": View("#/documents", seen(".documents-file[data-status=failed]")),
    "document search": View("#/documents", search),
    "document reader": View("#/documents", read_document),
    "ended session": View("#/", end_session),
    "sign-in": View("#/", sign_out),
}
APPEARANCES: dict[str, dict[str, Any]] = {"light": {}, "dark": {"theme": "dark"}, "phone": {"width": 390}}


@pytest.fixture(scope="module")
def site(filled: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A workspace with something in every view."""
    root = shutil.copytree(filled, tmp_path_factory.mktemp("site") / "workspace")
    with Veracity(root, settings=Settings.model_validate({"models": {"embedder": "none"}})) as engine:
        run_experiments(engine, root)
        engine.add(DOCUMENTS)  # an experiment changed one
    models = {"embedder": "none", **{role: f"test:{role}" for role in ("writer", "reviewer", "judge")}}
    llm = ScriptedLLM.by_role(writer=[GOOD, UNCITED], reviewer=PASS, judge=judged(95, 30, 30))
    settings = Settings.model_validate({"models": models, **PATIENT})
    with Veracity(root, settings=settings, llm=llm) as engine:
        assert engine.ask(QUESTION, conversation="answered").status == "answered"
        assert engine.ask(WAITING, conversation="waiting").status == "awaiting_approval"
        listed = engine.uploads.announce([(f"note{number}.md", 9) for number in range(8)])
        failed = Outcome(name="note0.md", status="failed", reason="it is damaged: it is cut off or not a valid PDF")
        for number, outcome in enumerate((failed, Outcome(name="note1.md", status="added")), 1):
            engine.uploads.lists.settle("local", listed.id, number, outcome)
        with serving(engine) as served:
            yield served


@pytest.mark.skipif(not AXE.exists() and "CI" not in os.environ, reason="npm ci installs axe-core")
@pytest.mark.parametrize("appearance", APPEARANCES)
def test_every_view_is_accessible(site: Served, open_page: OpenPage, watched: Watched, appearance: str) -> None:
    watched.allowed.append("401")  # signed out
    page = open_page(site, **APPEARANCES[appearance])
    found = {}
    for name, view in VIEWS.items():
        page.goto(f"{site.url}/{view.route}")
        view.prepare(page)
        found[name] = examine(page)
    assert {name: problems for name, problems in found.items() if problems} == {}


def examine(page: Page) -> list[str]:
    """What axe-core finds. It is evaluated, not loaded, so that the policy of the page stays in force."""
    if not page.evaluate("Boolean(window.axe)"):
        page.evaluate(AXE.read_text(encoding="utf-8"))
    return list(page.evaluate(EXAMINE, TAGS))
