"""Asking in a real browser: stages, draft, answer and sources, what goes on by itself, and what is never lost."""

from __future__ import annotations

import re
import threading
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.runs.scripts import GOOD, PASS, QUESTION, WRONG, fail, judged
from tests.server.conftest import TOKEN, MakeEngine, OpenPage, Serve, Watched
from veracity.testing import ScriptedLLM

REFUSED = "status of 401"


def ask(page: Page, question: str) -> None:
    page.fill("#question", question)
    page.keyboard.press("Enter")


def stage(page: Page, name: str) -> Any:
    return page.locator(".timeline-stage", has_text=name).last


def test_a_question_shows_its_stages_its_answer_and_the_quote_in_the_document(
    engine_with: MakeEngine, serve: Serve, open_page: OpenPage
) -> None:
    llm = ScriptedLLM.by_role(writer=[WRONG, GOOD], reviewer=[fail("It is 25 days."), PASS], judge=judged(95))
    page = open_page(serve(engine_with(llm)))
    ask(page, QUESTION)
    answer = page.locator("article.answer")
    expect(answer).to_contain_text("25 days")
    assert re.search(r"#/c/[\w-]+$", page.url)
    expect(stage(page, "Route")).to_contain_text("documents")
    expect(stage(page, "Draft")).to_contain_text("2 drafts")
    expect(stage(page, "Review")).to_contain_text("passed")
    expect(stage(page, "Score")).to_contain_text("95")
    stage(page, "Review").get_by_role("button").click()
    expect(page.locator(".timeline-details")).to_contain_text("It is 25 days.")
    answer.locator("button.answer-cite").first.click()
    expect(page.locator("aside.source mark").first).to_contain_text("25 days of paid annual leave")
    page.keyboard.press("Escape")
    expect(page.locator("aside.source")).to_have_count(0)


def test_a_draft_is_seen_while_it_is_examined_and_marked_as_one(
    engine_with: MakeEngine, serve: Serve, open_page: OpenPage
) -> None:
    examined = threading.Event()

    def reviewer(call: object) -> dict[str, Any]:
        assert examined.wait(20)
        return PASS

    page = open_page(serve(engine_with(ScriptedLLM.by_role(writer=GOOD, reviewer=reviewer, judge=judged(95)))))
    ask(page, QUESTION)
    expect(page.locator(".ask-draft")).to_contain_text("25 days")
    expect(page.locator(".ask-draft-mark")).to_contain_text("Draft, being examined")
    expect(stage(page, "Review")).to_have_attribute("data-state", "now")
    expect(page.get_by_role("button", name="Ask", exact=True)).to_be_disabled()
    page.reload()  # to stop watching does not stop the run
    expect(page.locator(".ask-draft")).to_contain_text("25 days")
    examined.set()
    expect(page.locator("article.answer")).to_contain_text("25 days")
    expect(page.locator(".ask-draft")).to_have_count(0)


def test_an_answer_that_waits_goes_on_by_itself_when_somebody_decides(
    gated: MakeEngine, serve: Serve, open_page: OpenPage
) -> None:
    served = serve(gated(ScriptedLLM.by_role(writer=GOOD, reviewer=PASS, judge=judged(50))))
    asker = served.token("asker", "ann")
    page = open_page(served, token=asker)
    ask(page, QUESTION)
    expect(page.locator(".ask-waiting")).to_contain_text("waits for a person")
    expect(page.get_by_text("Decide in the inbox")).to_have_count(0)
    approver = served.client(role="approver", name="bob")
    waiting = approver.get("/api/approvals").json()[0]
    decision = {"verdict": "approve", "draft_hash": waiting["draft_hash"]}
    assert approver.post(f"/api/approvals/{waiting['approval_id']}/decision", json=decision).status_code == 200
    expect(page.locator("article.answer")).to_contain_text("A person approved this answer (bob).")
    expect(stage(page, "Approve")).to_contain_text("approved")


def test_a_follow_up_joins_the_conversation_and_all_of_it_is_there_after_a_reload(
    engine_with: MakeEngine, serve: Serve, open_page: OpenPage
) -> None:
    page = open_page(serve(engine_with()))
    ask(page, QUESTION)
    expect(page.locator("article.answer")).to_have_count(1)
    address = page.url
    ask(page, "When is a lost laptop reported?")
    expect(page.locator("article.answer")).to_have_count(2)
    assert page.url == address
    page.reload()
    expect(page.locator(".ask-question")).to_have_text([QUESTION, "When is a lost laptop reported?"])
    expect(page.locator("article.answer").last).to_contain_text("within one hour")
    page.get_by_role("link", name="New question").click()
    expect(page.locator(".ask-turn")).to_have_count(0)


def test_a_run_has_an_address_that_shows_the_same(engine_with: MakeEngine, serve: Serve, open_page: OpenPage) -> None:
    page = open_page(serve(engine_with()))
    ask(page, QUESTION)
    page.get_by_role("link", name="Link to this answer").click()
    expect(page.get_by_role("heading", level=1)).to_have_text(QUESTION)
    expect(page.locator("article.answer")).to_contain_text("25 days")
    assert page.get_by_role("link", name="Receipt").get_attribute("href") == f"/api/runs/{page.url.split('/')[-1]}/page"


def test_a_run_that_is_not_there_says_so(
    engine_with: MakeEngine, serve: Serve, open_page: OpenPage, watched: Watched
) -> None:
    watched.allowed.append("status of 404")
    page = open_page(serve(engine_with()), "#/runs/nothing")
    expect(page.get_by_role("heading", level=1)).to_have_text("There is no such run")
    page.goto(page.url.split("#")[0] + "#/no/such/place")
    expect(page.get_by_role("heading", level=1)).to_have_text("There is no such page")


def test_a_run_that_fails_tells_why_and_can_be_asked_again(
    engine_with: MakeEngine, serve: Serve, open_page: OpenPage
) -> None:
    replies: list[Any] = [RuntimeError("The model is away.")] * 4 + [GOOD]
    llm = ScriptedLLM.by_role(writer=replies, reviewer=PASS, judge=judged(95))
    page = open_page(serve(engine_with(llm)))
    ask(page, QUESTION)
    expect(page.locator(".ask-failed")).to_contain_text("There is no answer")
    page.get_by_role("button", name="Ask again").click()
    expect(page.locator("article.answer")).to_contain_text("25 days")


def test_enter_that_ends_a_composition_does_not_send(
    engine_with: MakeEngine, serve: Serve, open_page: OpenPage
) -> None:
    page = open_page(serve(engine_with()), locale="ja-JP")
    page.fill("#question", "有給休暇は何日")
    for event in ({"isComposing": True}, {"keyCode": 229}):
        page.dispatch_event("#question", "keydown", {"key": "Enter", "bubbles": True, "cancelable": True, **event})
    page.keyboard.press("Shift+Enter")
    page.keyboard.type("ですか？")
    assert page.input_value("#question") == "有給休暇は何日\nですか？"
    expect(page.locator(".ask-turn")).to_have_count(0)
    page.keyboard.press("Enter")
    expect(page.locator("article.answer")).to_contain_text("二十日")


def test_a_session_that_ends_loses_nothing_that_was_typed(
    engine_with: MakeEngine, serve: Serve, open_page: OpenPage, watched: Watched
) -> None:
    watched.allowed.append(REFUSED)
    page = open_page(serve(engine_with()))
    page.fill("#question", QUESTION)
    page.context.clear_cookies()
    page.keyboard.press("Enter")
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("Your session has ended")
    page.fill("#token", "wrong")
    page.keyboard.press("Enter")
    expect(dialog.get_by_role("alert")).to_contain_text("not known")
    page.fill("#token", TOKEN)
    page.keyboard.press("Enter")
    expect(dialog).to_have_count(0)
    page.get_by_role("button", name="Ask again").click()
    expect(page.locator("article.answer")).to_contain_text("25 days")
    expect(page.locator(".ask-question")).to_have_text([QUESTION])


def test_what_is_typed_outlives_a_reload_and_another_view(
    engine_with: MakeEngine, serve: Serve, open_page: OpenPage
) -> None:
    page = open_page(serve(engine_with()))
    page.fill("#question", "half a quest")
    page.reload()
    assert page.input_value("#question") == "half a quest"
    page.get_by_role("link", name="Documents").click()
    page.get_by_role("link", name="Ask", exact=True).click()
    assert page.input_value("#question") == "half a quest"


def test_without_a_session_there_is_a_door(
    serve: Serve, engine_with: MakeEngine, open_page: OpenPage, watched: Watched
) -> None:
    watched.allowed.append(REFUSED)
    page = open_page(serve(engine_with()))
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
    page.fill("#token", TOKEN)
    page.keyboard.press("Enter")
    expect(page.locator("#question")).to_be_visible()


def test_language_and_theme_are_chosen_and_remembered(
    engine_with: MakeEngine, serve: Serve, open_page: OpenPage
) -> None:
    page = open_page(serve(engine_with()))
    light = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.get_by_label("Theme").select_option("dark")
    page.get_by_label("Language").select_option("zh")
    expect(page.get_by_role("heading", level=1)).to_have_text("向您的文档提问")
    page.reload()
    expect(page.get_by_role("heading", level=1)).to_have_text("向您的文档提问")
    assert page.evaluate("document.documentElement.lang") == "zh-Hans"
    assert page.title() == "提问 · Veracity"
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") != light


@pytest.mark.parametrize("width", [320, 760])
def test_a_narrow_screen_shows_all_without_scrolling_sideways(
    engine_with: MakeEngine, serve: Serve, open_page: OpenPage, width: int
) -> None:
    page = open_page(serve(engine_with()), width=width, height=640)
    ask(page, QUESTION)
    expect(page.locator("article.answer")).to_contain_text("25 days")
    page.get_by_role("button", name="How it came about").click()
    stage(page, "Grade").get_by_role("button").click()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.get_by_role("button", name="Preferences").click()
    expect(page.get_by_label("Language")).to_be_visible()


def test_events_are_read_the_same_wherever_the_stream_is_cut(
    engine_with: MakeEngine, serve: Serve, open_page: OpenPage
) -> None:
    first = ': \n\nid: 1.1\r\nevent: draft\r\ndata: {"text":\r\ndata:  "二十日 🙂"}\r\n\r\n'
    stream = first + 'id: 2\ndata: {"kind":"answer"}\n\nevent: half\n'
    read = """async (stream) => {
        const { eventReader } = await import("/static/events.js");
        const readings = new Set();
        for (let at = 0; at <= stream.length; at += 1) {
            const found = [];
            const take = eventReader((event) => found.push(event));
            [stream.slice(0, at), stream.slice(at)].forEach(take);
            readings.add(JSON.stringify(found));
        }
        return [...readings].map((one) => JSON.parse(one));
    }"""
    page = open_page(serve(engine_with()))
    assert page.evaluate(read, stream) == [
        [
            {"id": "1.1", "kind": "draft", "data": {"text": "二十日 🙂"}},
            {"id": "2", "kind": "message", "data": {"kind": "answer"}},
        ]
    ]
