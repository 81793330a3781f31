"""The ask view when requests fail: nothing gets stuck, is asked twice, is lost, or is shown to another user."""

from __future__ import annotations

import itertools
import threading
from typing import Any

from playwright.sync_api import Page, Route, expect

from tests.runs.scripts import GOOD, PASS, QUESTION, judged
from tests.runs.websites import SearchServer
from tests.server.conftest import MODULES, TOKEN, MakeEngine, OpenPage, Serve, Watched
from veracity.testing import ScriptedLLM

ABORTED = "ERR_FAILED"
FOLLOW_UP = "How many days may be carried over?"


def ask(page: Page, question: str) -> None:
    page.fill("#question", question)
    page.keyboard.press("Enter")


def test_a_refused_question_can_be_asked_again(
    engine_with: MakeEngine, serve: Serve, open_page: OpenPage, watched: Watched
) -> None:
    watched.allowed.append(ABORTED)
    page = open_page(serve(engine_with()))
    failed, welcome = page.locator(".ask-failed"), page.locator(".ask-welcome")
    page.route("**/api/ask", lambda route: route.abort())
    for way in (page.locator(".ask-new"), page.get_by_role("link", name="Ask", exact=True)):
        ask(page, QUESTION)
        expect(failed).to_contain_text("The server cannot be reached.")
        way.click()  # the address does not change
        expect(welcome).to_be_visible()
    ask(page, QUESTION)
    for _ in range(2):
        page.get_by_role("button", name="Ask again").click()
        expect(failed).to_be_visible()
        expect(page.locator(".ask-composer .spinner")).to_have_count(0)
    page.unroute("**/api/ask")
    page.get_by_role("button", name="Ask again").click()
    expect(page.locator("article.answer")).to_contain_text("25 days")
    expect(page.locator(".ask-question")).to_have_text([QUESTION])


def test_typed_text_belongs_to_its_conversation(engine_with: MakeEngine, serve: Serve, open_page: OpenPage) -> None:
    served = serve(engine_with())
    served.engine.suggestions.find_examples()
    page = open_page(served)
    box, source = page.locator("#question"), page.locator("aside.source")
    ask(page, QUESTION)
    for key in ("Escape", "Enter"):
        page.locator("button.answer-cite").first.click()
        expect(source.locator("mark").first).to_be_visible()
        box.fill(FOLLOW_UP)
        box.press(key)
        expect(source).to_have_count(0)
        expect(box).to_be_focused()
    expect(page.locator("article.answer")).to_have_count(2)
    box.fill("and for how long?")
    page.reload()
    expect(box).to_have_value("and for how long?")
    page.goto(f"{served.url}/#/")
    example = page.locator(".ask-examples button").first
    expect(example).to_be_visible()
    expect(box).to_have_value("")
    box.fill("Something else?")
    example.click()
    expect(box).to_have_value(f"Something else?\n{example.inner_text()}")
    page.go_back()
    expect(box).to_have_value("and for how long?")


def test_failed_loads_are_shown_and_retried(
    engine_with: MakeEngine, serve: Serve, open_page: OpenPage, watched: Watched
) -> None:
    watched.allowed += [ABORTED]
    engine = engine_with()
    run = engine.ask(QUESTION, conversation="one")
    served = serve(engine)
    page = open_page(served)
    answer, trouble = page.locator("article.answer"), page.locator(".ask-failed")
    page.route("**/api/runs/*", lambda route: route.abort())
    page.goto(f"{served.url}/#/runs/{run.run_id}")
    expect(trouble).to_contain_text("This answer could not be loaded")
    expect(page.get_by_role("button", name="Ask again")).to_have_count(0)
    page.unroute("**/api/runs/*")
    page.get_by_role("button", name="Try again").click()
    expect(answer).to_contain_text("25 days")
    page.route("**/turns?*", lambda route: route.abort())
    page.goto(f"{served.url}/#/c/one")
    expect(trouble).to_contain_text("This conversation could not be loaded")
    page.unroute("**/turns?*")
    served.app.state.feed.stop()  # the page connects again
    expect(answer).to_contain_text("25 days")


def test_an_accepted_question_is_followed_and_not_asked_twice(
    engine_with: MakeEngine, serve: Serve, open_page: OpenPage, watched: Watched
) -> None:
    watched.allowed.append(ABORTED)
    served = serve(engine_with())
    page = open_page(served)

    def cut(route: Route) -> None:
        """Cut the stream after its headers, before the first event."""
        route.fulfill(response=route.fetch(), body="")

    def lose(route: Route) -> None:
        route.fetch()
        route.abort()

    page.route("**/api/ask", cut)
    ask(page, QUESTION)
    expect(page.locator("article.answer")).to_contain_text("25 days")
    expect(page).to_have_url(f"{served.url}/#/c/{served.engine.runs()[0].conversation}")
    page.unroute("**/api/ask")
    page.route("**/api/ask", lose)
    ask(page, FOLLOW_UP)
    expect(page.locator(".ask-failed")).to_be_visible()
    page.unroute("**/api/ask")
    page.get_by_role("button", name="Ask again").click()
    expect(page.locator("article.answer")).to_have_count(2)
    assert [run.question for run in served.engine.runs()] == [FOLLOW_UP, QUESTION]
    read = f"async (response) => (await import('{MODULES}/lib/http.js')).errorFrom(...response).message"
    body = '{"error": {"kind": "%s", "message": "There are 7."}}'
    assert page.evaluate(read, [429, body % "TooMany", "7"]) == "There are 7."
    assert page.evaluate(read, [413, "<html>", ""]) == "This is too large for the server."
    page.evaluate(f"import('{MODULES}/lib/i18n.js').then((module) => module.setLanguage('ja'))")
    assert page.evaluate(read, [429, body % "TooMany", "7"]) == "要求が集中しています。7 秒後に再試行してください。"
    assert page.evaluate(read, [400, body % "InputError", ""]) == "There are 7."


def test_a_queued_question_waits_for_the_last_run_only(
    gated: MakeEngine, website: SearchServer, serve: Serve, open_page: OpenPage
) -> None:
    website.finds("Staff at Example have 27 days of paid annual leave a year, says their site.")
    reviewed, written = threading.Event(), threading.Event()
    drafts, reviews = itertools.count(1), itertools.count(1)

    def writer(*_: Any) -> str:
        return GOOD if next(drafts) < 3 or written.wait(60) else ""

    def reviewer(*_: Any) -> dict[str, Any]:
        return PASS if next(reviews) != 2 or reviewed.wait(60) else {}

    llm = ScriptedLLM.by_role(writer=writer, reviewer=reviewer, judge=judged(50, 95, 95))
    served = serve(gated(llm, web=website.settings))
    served.engine.ask(QUESTION, conversation="one", user="local")
    page = open_page(served, "#/c/one")
    expect(page.locator(".ask-waiting")).to_be_visible()
    ask(page, FOLLOW_UP)
    expect(page.locator(".ask-draft")).to_be_visible()
    ask(page, "And after that?")
    bob = served.client(role="approver", name="bob")
    approval = bob.get("/api/approvals").json()[0]["approval_id"]
    bob.post(f"/api/approvals/{approval}/decision", json={"verdict": "reject"}).raise_for_status()
    first = page.locator(".ask-turn").first
    expect(first.locator("[data-state=active]", has_text="Draft")).to_be_visible()
    written.set()
    expect(first.locator("article.answer")).to_contain_text("25 days")
    page.wait_for_timeout(100)  # longer than events are batched
    expect(page.get_by_text("Will be sent when this answer is complete.")).to_be_visible()
    expect(page.locator(".ask-turn")).to_have_count(2)
    reviewed.set()
    expect(page.locator("article.answer")).to_have_count(3)


def test_another_user_sees_nothing_of_the_last_user(
    engine_with: MakeEngine, serve: Serve, open_page: OpenPage, watched: Watched
) -> None:
    watched.allowed += [ABORTED, "status of 401"]
    served = serve(engine_with())
    page = open_page(served)
    box, cover, name = page.locator("#question"), page.get_by_role("dialog"), page.locator(".shell-user strong")

    def sign_in(token: str) -> None:
        page.fill("#token", token)
        page.keyboard.press("Enter")

    page.route("**/api/session", lambda route: route.abort())
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_role("alert")).to_have_text("You are still signed in. The server cannot be reached.")
    page.unroute("**/api/session")
    ask(page, QUESTION)
    expect(page.locator("article.answer")).to_be_visible()
    box.fill("What does the boss earn?")
    page.context.clear_cookies()
    served.app.state.feed.stop()  # the page connects again, and is refused
    sign_in(TOKEN)  # the same user keeps the page
    expect(cover).to_have_count(0)
    expect(box).to_be_focused()
    expect(box).to_have_value("What does the boss earn?")
    page.context.clear_cookies()
    box.press("Enter")
    expect(cover).to_be_visible()
    sign_in(served.token("asker", "ann"))
    expect(name).to_have_text("ann")
    expect(page.locator(".ask-welcome")).to_be_visible()
    expect(box).to_have_value("")
    box.fill("Where can I hide?")
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
    sign_in(TOKEN)
    expect(name).to_have_text("local")
    expect(box).to_have_value("")
