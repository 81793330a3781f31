"""What surrounds the views: the banner while the server cannot be reached, the command palette, and the left edge."""

import re
import threading
from dataclasses import replace
from typing import Any

import pytest
from playwright.sync_api import Route, expect

from tests.runs.scripts import GOOD, PASS, QUESTION, judged
from tests.server.conftest import MakeEngine, OpenPage, Serve, Served, Watched
from tests.server.relay import relaying
from veracity.testing import ScriptedLLM

UNREACHABLE = "The server cannot be reached."
BROKEN_CONNECTIONS = ["ERR_CONNECTION", "ERR_EMPTY_RESPONSE", "ERR_INCOMPLETE_CHUNKED_ENCODING", "ERR_NETWORK"]
LEFT_OF_TEXT = """(element) => {
  const range = document.createRange();
  range.selectNodeContents(element);
  return range.getBoundingClientRect().left;
}"""
HOTEL = "How much may a hotel cost a night?"


@pytest.fixture
def served(engine_with: MakeEngine, serve: Serve) -> Served:
    engine = engine_with()
    engine.ask(QUESTION, conversation="leave")
    engine.ask("And how many may be carried over?", conversation="leave")
    engine.ask(HOTEL, conversation="travel")
    return serve(engine)


def test_one_banner_stays_while_the_server_cannot_be_reached(
    gated: MakeEngine, serve: Serve, open_page: OpenPage, watched: Watched
) -> None:
    watched.allowed += BROKEN_CONNECTIONS
    written = threading.Event()

    def writer(*_: Any) -> str:
        return GOOD if written.wait(60) else ""

    served = serve(gated(ScriptedLLM.by_role(writer=writer, reviewer=PASS, judge=judged(95))))
    with relaying(served.url) as relay:
        page = open_page(replace(served, url=relay.url), height=420)
        banner, active = page.locator(".shell-lost .notice"), page.locator(".timeline-stage[data-state=active]")
        page.fill("#question", QUESTION)
        page.keyboard.press("Enter")
        expect(active.locator(".timeline-found")).to_have_text("writing…")
        expect(banner).to_have_count(0)
        relay.down()
        expect(banner).to_have_text(f"{UNREACHABLE} Reconnecting… A run in progress is kept and will be resumed.")
        expect(active.locator(".timeline-found")).to_have_text("waiting for the server")
        expect(active.locator(".timeline-time")).to_have_text("")
        expect(page.get_by_text(UNREACHABLE)).to_have_count(1)
        page.locator("#main").evaluate("(main) => { main.style.minHeight = '3000px'; scrollTo(0, 900); }")
        assert page.evaluate("scrollY") == 900
        assert banner.bounding_box()["y"] == 0  # type: ignore[index]
        page.get_by_role("link", name="Inbox").click()
        expect(page.get_by_role("heading", name="Inbox")).to_be_visible()
        expect(page.get_by_text("Waiting for the server…")).to_be_visible()
        expect(page.get_by_text(UNREACHABLE)).to_have_count(1)
        expect(page.get_by_text("Something went wrong")).to_have_count(0)
        page.go_back()
        expect(page.get_by_text("Waiting for the server…")).to_be_visible()
        expect(page.get_by_text(UNREACHABLE)).to_have_count(1)
        relay.up()
        expect(banner).to_have_count(0)
        written.set()
        expect(page.locator("article.answer")).to_contain_text("25 days")
        assert [run.question for run in served.engine.runs()] == [QUESTION]


def test_the_palette_opens_views_conversations_and_documents(served: Served, open_page: OpenPage) -> None:
    page = open_page(served, "#/conversations")
    last = page.get_by_role("link", name="Documents")
    dialog = page.locator("dialog.shell-palette")
    last.focus()
    page.keyboard.press("Control+k")
    palette = dialog.get_by_role("combobox")
    expect(palette).to_be_focused()
    expect(dialog.get_by_role("option").first).to_have_text("New question")
    expect(dialog.get_by_role("option", name=HOTEL)).to_be_visible()
    expect(dialog.get_by_role("option", name="Annual leave Document")).to_have_count(
        0
    )  # documents, once something is typed
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    expect(last).to_be_focused()

    page.keyboard.press("Meta+k")
    palette.fill("annual")
    expect(dialog.get_by_role("option").first).to_contain_text(QUESTION)
    expect(dialog.get_by_role("option", name="Annual leave Document")).to_be_visible()
    page.keyboard.press("ArrowUp")  # to the last one
    chosen = dialog.locator("[aria-selected=true]")
    expect(chosen).to_contain_text("Annual leave")
    expect(palette).to_have_attribute("aria-activedescendant", chosen.get_attribute("id") or "")
    page.keyboard.press("Enter")
    reader = page.get_by_role("dialog", name="Annual leave")
    expect(reader).to_contain_text("25 days of paid annual leave")
    expect(page).to_have_url(f"{served.url}/#/documents/leave")
    page.keyboard.press("Escape")
    expect(page).to_have_url(f"{served.url}/#/documents")

    held: list[Route] = []
    page.route("**/api/conversations?limit=*", lambda route: held.append(route), times=1)  # noqa: PLW0108 - Playwright needs a function
    page.get_by_role("button", name=re.compile("^Go to")).click()
    palette.fill("hotel")
    expect(dialog.get_by_role("status")).to_have_text("Nothing has this name.")
    page.keyboard.press("Enter")  # before the list arrives
    expect(dialog).to_be_visible()
    held[0].continue_()
    expect(page.locator(".ask-question")).to_have_text(HOTEL)
    page.keyboard.press("Control+k")
    page.keyboard.press("Enter")
    expect(page.locator(".ask-welcome")).to_be_visible()
    expect(page.locator("#question")).to_be_focused()
    page.keyboard.press("Control+k")
    palette.fill("qqq")
    expect(dialog.get_by_role("status")).to_have_text("Nothing has this name.")
    page.keyboard.press("Control+k")
    expect(dialog).to_have_count(0)


def test_the_palette_changes_theme_and_language(served: Served, open_page: OpenPage) -> None:
    page = open_page(served, token=served.token("asker"), width=390)
    page.get_by_role("button", name=re.compile("^Go to")).click()
    expect(page.get_by_role("option", name="Admin")).to_have_count(0)
    page.get_by_role("option", name="Dark Theme").click()
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    page.keyboard.press("Control+k")
    page.get_by_role("dialog").get_by_role("combobox").fill("日本")
    page.keyboard.press("Enter")
    expect(page.locator("html")).to_have_attribute("lang", "ja")
    page.get_by_role("button", name="設定").click()
    expect(page.get_by_label("テーマ")).to_have_value("dark")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_slash_focuses_the_field_of_the_view(served: Served, open_page: OpenPage) -> None:
    page = open_page(served, "#/c/leave")
    box = page.locator("#question")
    page.get_by_role("link", name="New question").focus()
    page.keyboard.press("/")
    expect(box).to_be_focused()
    expect(box).to_have_value("")
    page.keyboard.press("/")
    expect(box).to_have_value("/")
    for address, label in (
        ("#/conversations", "Search your conversations"),
        ("#/documents", "Filter"),
        ("#/admin/settings", "Search the settings"),
    ):
        page.goto(f"{served.url}/{address}")
        field = page.get_by_label(label)
        expect(field).to_be_visible()
        page.locator("#main").focus()
        page.keyboard.press("/")
        expect(field).to_be_focused()
        expect(field).to_have_value("")
    page.goto(f"{served.url}/#/inbox")
    expect(page.get_by_role("heading", name="Inbox")).to_be_visible()
    page.keyboard.press("/")
    expect(page.locator(".ask-welcome")).to_be_visible()
    expect(box).to_be_focused()


@pytest.mark.parametrize("width", [1920, 1440, 1024, 390])
def test_every_view_starts_at_the_same_left_edge(served: Served, open_page: OpenPage, width: int) -> None:
    page = open_page(served, width=width)
    heading = page.locator("main :is(h1:not(.visually-hidden), .ask-question):visible").first
    edges = {}
    for view in ("", "c/leave", "inbox", "conversations", "documents", "evaluator", "experiments", "admin"):
        page.goto(f"{served.url}/#/{view}")
        expect(heading).to_be_visible()
        if view == "c/leave":
            expect(page.locator("article.answer")).to_have_count(2)  # the turns are drawn again when they are loaded
        edges[view] = heading.evaluate(LEFT_OF_TEXT)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), view
    assert len(set(edges.values())) == 1, edges


def test_no_rule_stands_after_the_last_turn(served: Served, open_page: OpenPage) -> None:
    page = open_page(served, "#/c/leave")
    turns = page.locator(".ask-turn")
    expect(page.locator("article.answer")).to_have_count(2)
    widths = turns.evaluate_all(
        "(all) => all.map((one) => [getComputedStyle(one).borderTopWidth, getComputedStyle(one).borderBottomWidth])"
    )
    assert widths == [["0px", "0px"], ["1px", "0px"]]
