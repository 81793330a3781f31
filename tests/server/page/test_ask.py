"""The ask view in a real browser: stages, drafts, answers, sources, sessions and preferences."""

from __future__ import annotations

import re
import threading
from pathlib import Path
from typing import Any

import httpx
import pytest
from playwright.sync_api import Page, expect

from tests.runs.scripts import GOOD, PASS, QUESTION, WRONG, fail, judged
from tests.runs.websites import SearchServer
from tests.server.conftest import MODULES, TOKEN, MakeEngine, OpenPage, Serve, Watched
from veracity.engine import Veracity
from veracity.models import Role
from veracity.settings import Settings
from veracity.testing import ScriptedLLM

UNAUTHORIZED = "status of 401"


def ask(page: Page, question: str) -> None:
    page.fill("#question", question)
    page.keyboard.press("Enter")


def end_session(page: Page) -> None:
    """Ends the session after the first view has loaded, so that the next request gets a 401."""
    loaded = "() => performance.getEntriesByType('resource').some(({ name }) => name.endsWith('/api/examples'))"
    page.wait_for_function(loaded)
    page.context.clear_cookies()


def open_stages(page: Page) -> None:
    """Once the run is over, the verdict has the place of its stages."""
    page.locator(".verdict-bar button").last.click()


def stage(page: Page, name: str) -> Any:
    return page.locator(".timeline-stage", has_text=name).last


def test_a_question_shows_stages_answer_and_quoted_source(
    engine_with: MakeEngine, serve: Serve, open_page: OpenPage
) -> None:
    llm = ScriptedLLM.by_role(writer=[WRONG, GOOD], reviewer=[fail("It is 25 days."), PASS], judge=judged(95))
    page = open_page(serve(engine_with(llm)))
    ask(page, QUESTION)
    answer = page.locator("article.answer")
    expect(answer).to_contain_text("25 days")
    expect(page).to_have_url(re.compile(r"#/c/[\w-]+$"))
    parts = ["reviewed", "1 of 1 sentence supported", "strong score 95 (threshold 75)"]
    expect(page.locator(".verdict-bar .verdict-part")).to_have_text(parts)
    expect(page.locator(".verdict-bar .verdict")).to_have_attribute("data-tone", "good")
    expect(page.locator(".timeline")).to_have_count(0)
    open_stages(page)
    expect(stage(page, "Route")).to_contain_text("documents")
    expect(stage(page, "Grade")).to_contain_text(re.compile(r"(weak|fair|strong) \(\d+\)"))
    expect(stage(page, "Draft")).to_contain_text("2 drafts")
    expect(stage(page, "Review")).to_contain_text("passed")
    expect(stage(page, "Score")).to_contain_text("strong (95)")
    stage(page, "Review").get_by_role("button").click()
    expect(page.locator(".timeline-details")).to_contain_text("It is 25 days.")
    stage(page, "Retrieve").get_by_role("button").click()
    titles = page.locator(".timeline-entry h4")
    expect(page.locator(".timeline-entry")).to_have_count(titles.count())  # no row is blank
    answer.locator("button.answer-cite").first.click()
    expect(page.locator("aside.source mark").first).to_contain_text("25 days of paid annual leave")
    page.keyboard.press("Escape")
    expect(page.locator("aside.source")).to_have_count(0)


def test_x3_usage_and_prompts_are_behind_disclosures(
    engine_with: MakeEngine, serve: Serve, open_page: OpenPage
) -> None:
    hostile = f"{GOOD} <img src=x onerror=alert(1)>"
    llm = ScriptedLLM.by_role(writer=hostile, reviewer=PASS, judge=judged(95))
    page = open_page(serve(engine_with(llm, receipts={"prompts": True})))
    ask(page, QUESTION)
    usage = page.locator(".ask-usage")
    usage.get_by_text("Models and cost").click()
    expect(usage.locator("tbody tr", has_text="Writer")).to_contain_text(re.compile(r"Writer1\d+0\d+unknown"))
    expect(usage.locator("tbody tr")).to_have_count(4)  # three roles and the total
    expect(usage.locator("pre").first).to_be_hidden()
    usage.locator("summary", has_text="test:writer").click()
    call = usage.locator("li").first
    expect(call.locator("pre").last).to_have_text(hostile)
    expect(call).to_contain_text("Message to the model")
    expect(call.locator("img")).to_have_count(0)


def test_a_draft_is_shown_while_it_is_reviewed_and_can_be_stopped(
    engine_with: MakeEngine, serve: Serve, open_page: OpenPage
) -> None:
    examined = threading.Event()

    def reviewer(call: object) -> dict[str, Any]:
        assert examined.wait(60)
        return PASS

    page = open_page(serve(engine_with(ScriptedLLM.by_role(writer=GOOD, reviewer=reviewer, judge=judged(95)))))
    ask(page, QUESTION)
    expect(page.locator(".ask-draft")).to_contain_text("25 days")
    expect(page.locator(".ask-draft-mark")).to_contain_text("Draft, being reviewed")
    expect(stage(page, "Review")).to_have_attribute("data-state", "active")
    expect(page.get_by_role("button", name="Ask", exact=True)).to_have_count(0)
    page.reload()  # the run continues
    expect(page.locator(".ask-draft")).to_contain_text("25 days")
    examined.set()
    expect(page.locator("article.answer")).to_contain_text("25 days")
    expect(page.locator(".ask-draft")).to_have_count(0)
    examined.clear()
    ask(page, "How many may be carried over?")
    expect(page.locator(".ask-draft")).to_be_visible()
    stop = page.get_by_role("button", name="Stop")
    stop.dispatch_event("click", {"detail": 2})  # the second click of a double click on "send"
    expect(stop).to_be_visible()
    stop.click()
    expect(page.locator(".ask-stopped p")).to_have_text("You stopped it.")
    expect(page.locator(".ask-stopped").get_by_role("button", name="Ask again")).to_be_visible()
    expect(page.locator(".ask-draft")).to_contain_text("Unfinished draft, not reviewed")
    expect(page.locator(".ask-draft")).to_contain_text("25 days")
    expect(page.locator("#question")).to_be_focused()
    expect(page.get_by_role("button", name="Ask", exact=True)).to_be_disabled()
    examined.set()


def test_a_pending_answer_updates_when_it_is_decided(gated: MakeEngine, serve: Serve, open_page: OpenPage) -> None:
    served = serve(gated(ScriptedLLM.by_role(writer=GOOD, reviewer=PASS, judge=judged(50))))
    asker = served.token("asker", "ann")
    page = open_page(served, token=asker)
    ask(page, QUESTION)
    expect(page.locator(".ask-waiting")).to_contain_text("waiting for approval")
    expect(page.locator(".ask-waiting")).to_contain_text("It scored 50.")
    expect(page.get_by_text("Decide in the inbox")).to_have_count(0)
    approver = served.client(role="approver", name="bob")
    waiting = approver.get("/api/approvals").json()[0]
    decision = {"verdict": "approve", "draft_hash": waiting["draft_hash"]}
    assert approver.post(f"/api/approvals/{waiting['approval_id']}/decision", json=decision).status_code == 200
    expect(page.locator("article.answer")).to_contain_text("A person approved this answer (bob).")
    expect(page.locator(".verdict-bar")).to_contain_text("approved by bob")
    open_stages(page)
    expect(stage(page, "Approve")).to_contain_text("approved")


def decide(approver: httpx.Client, **decision: str) -> None:
    """Decide on the only pending draft."""
    waiting = approver.get("/api/approvals").json()[0]
    approver.post(f"/api/approvals/{waiting['approval_id']}/decision", json=decision).raise_for_status()


REJECTED = {
    "zh": ("bob 驳回了草稿。", "未设置"),
    "ja": ("bob さんが下書きを却下しました。", "未設定"),
    "en": ("bob rejected the draft.", "not configured"),
}


IN_SIGHT = """selector => { const one = document.querySelector(selector), box = one.getBoundingClientRect();
    return one.contains(document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2)); }"""


def test_a_rejected_answer_names_the_approver_and_the_reason_once_d7(
    gated: MakeEngine, serve: Serve, open_page: OpenPage
) -> None:
    served = serve(gated(ScriptedLLM.by_role(writer=GOOD, reviewer=PASS, judge=judged(50))))
    bob = served.client(role="approver", name="bob")
    page = open_page(served, token=served.token("asker", "ann"))
    ask(page, QUESTION)
    expect(page.locator(".ask-waiting")).to_be_visible()
    decide(bob, verdict="reject", reason="Too old.")
    answer = page.locator("article.answer")
    for _ in ("live", "after a reload"):
        expect(answer.locator(".notice")).to_contain_text(REJECTED["en"][0])
        expect(answer.locator(".notice q")).to_have_text("Too old.")
        expect(answer.locator(".answer-text")).to_contain_text("The answer to this question was rejected.")
        expect(answer).not_to_contain_text("25 days")
        expect(answer.locator(".answer-notices")).not_to_contain_text("A person rejected")
        expect(answer.locator(".answer-notices")).to_contain_text("The web was not searched")
        assert page.locator(".feedback, .answer-foot").count() == 0
        page.reload()
    page.goto(f"{served.url}/#/runs/{served.engine.runs(user='ann')[0].run_id}")
    open_stages(page)
    for language, (said, not_set_up) in REJECTED.items():
        page.locator(".shell-choice select").first.select_option(language)
        expect(answer.locator(".notice")).to_contain_text(said)
        expect(answer.locator(".notice q")).to_have_text("Too old.")
        expect(page.locator(".timeline-stage").last).to_contain_text(not_set_up)
        expect(page.locator(".timeline-attempt")).to_have_count(0)


def test_a_second_answer_shows_why_the_first_was_rejected_d7(
    gated: MakeEngine, website: SearchServer, serve: Serve, open_page: OpenPage
) -> None:
    website.finds("Staff at Example have 27 days of paid annual leave a year, says their site.")
    llm = ScriptedLLM.by_role(writer=[GOOD, "Staff have 27 days of leave. [1]"], reviewer=PASS, judge=judged(50, 95))
    served = serve(gated(llm, web=website.settings))
    bob = served.client(role="approver", name="bob")
    page = open_page(served)
    ask(page, QUESTION)
    expect(page.locator(".ask-waiting")).to_be_visible()
    decide(bob, verdict="reject", reason="太旧了。")
    expect(page.locator("article.answer")).to_contain_text("27 days")
    expect(page.locator(".ask-decisions")).to_have_text("bob rejected the first answer. 太旧了。")
    open_stages(page)
    expect(page.locator(".timeline-attempt").last).to_have_text("Attempt 2")
    expect(page.locator(".feedback")).to_be_visible()
    page.set_viewport_size({"width": 380, "height": 760})
    page.evaluate("""() => scrollBy(0, document.querySelector(".feedback").getBoundingClientRect().bottom
        - document.querySelector(".ask-foot-bar").getBoundingClientRect().top)""")
    page.get_by_role("button", name="Not helpful").click()
    page.get_by_role("button", name="Save").wait_for()
    page.wait_for_function(IN_SIGHT, arg=".feedback-form button")


def test_a_failed_web_search_differs_from_one_without_results_d8(
    gated: MakeEngine, website: SearchServer, serve: Serve, open_page: OpenPage
) -> None:
    llm = ScriptedLLM.by_role(writer=GOOD, reviewer=PASS, judge=judged(50, 50))
    served = serve(gated(llm, web=website.settings))
    bob = served.client(role="approver", name="bob")
    page = open_page(served)
    ask(page, QUESTION)
    expect(page.locator(".ask-waiting")).to_be_visible()
    decide(bob, verdict="reject")
    expect(page.locator(".verdict-bar")).to_contain_text("rejected by bob")
    open_stages(page)
    expect(stage(page, "Web")).to_contain_text("nothing found")
    website.status = 500
    ask(page, "How many days of leave may be carried over?")
    expect(page.locator(".ask-waiting")).to_be_visible()
    decide(bob, verdict="reject")
    expect(page.locator(".verdict-bar", has_text="rejected by bob")).to_have_count(2)
    open_stages(page)
    expect(stage(page, "Web")).to_contain_text("failed")


def test_a_question_sent_while_busy_is_queued(engine_with: MakeEngine, serve: Serve, open_page: OpenPage) -> None:
    held = threading.Event()

    def written(*_: Any) -> str:
        held.wait(60)
        return GOOD

    page = open_page(serve(engine_with(ScriptedLLM.by_role(writer=written, reviewer=PASS))), locale="ja-JP")
    ask(page, QUESTION)
    expect(page.locator(".ask-question")).to_have_count(1)
    ask(page, "持ち越しは何日？")
    queued = page.get_by_text("この回答が出たら自動で質問します。")
    expect(queued).to_be_visible()
    page.fill("#question", "持ち越せるのは何日？")  # typing takes it back
    expect(queued).to_have_count(0)
    page.keyboard.press("Enter")
    expect(queued).to_be_visible()
    expect(page.locator(".ask-question")).to_have_count(1)
    held.set()
    expect(page.locator(".ask-question")).to_have_text([QUESTION, "持ち越せるのは何日？"])
    expect(page.locator("#question")).to_have_value("")
    expect(page.locator("article.answer")).to_have_count(2)


def test_a_forgotten_answer_has_no_text_copy_button_or_feedback_x3(
    engine_with: MakeEngine, serve: Serve, open_page: OpenPage
) -> None:
    engine = engine_with()
    run = engine.ask(QUESTION)
    engine.forget("leave")
    page = open_page(serve(engine), f"#/runs/{run.run_id}")
    expect(page.locator("article.answer")).to_contain_text("The text was removed")
    assert page.locator(".feedback, .answer-foot").count() == 0
    assert page.get_by_text("forgotten").count() == 1
    assert page.get_by_text("quoted from").count() == 0


def test_conversations_of_other_users_are_not_found(engine_with: MakeEngine, serve: Serve, open_page: OpenPage) -> None:
    engine = engine_with()
    engine.ask(QUESTION, conversation="hers", user="anna")
    served = serve(engine)
    page = open_page(served)
    for name in ("hers", "無い会話"):
        page.goto(f"{served.url}/#/c/{name}")
        expect(page.get_by_role("heading", level=1)).to_have_text("Conversation not found")
        expect(page.locator("#question")).to_have_count(0)
    page.locator("main").get_by_role("link", name="New question").click()
    ask(page, QUESTION)
    expect(page.locator("article.answer")).to_contain_text("25 days")
    page.reload()
    expect(page.locator("article.answer")).to_contain_text("25 days")


def test_an_example_fills_the_box_without_sending(engine_with: MakeEngine, serve: Serve, open_page: OpenPage) -> None:
    served = serve(engine_with())
    served.engine.suggestions.find_examples()
    page = open_page(served)
    example = page.locator(".ask-examples button").first
    expect(example).to_be_visible()
    assert example.locator("svg").count() == 0
    words = example.inner_text()
    example.click()
    expect(page.locator("#question")).to_be_focused()
    expect(page.locator("#question")).to_have_value(words)
    page.wait_for_function("(box => box.selectionStart === box.value.length)(document.querySelector('#question'))")
    page.keyboard.type(" Really?")
    expect(page.locator("#question")).to_have_value(f"{words} Really?")
    expect(page.locator(".ask-turn")).to_have_count(0)
    origin = next(example.document_id for example in served.engine.suggestions.examples() if example.question == words)
    served.client().request("DELETE", "/api/document", params={"id": origin}).raise_for_status()
    expect(page.get_by_role("button", name=words)).to_have_count(0)


def test_a_changed_role_is_read_on_focus(engine_with: MakeEngine, serve: Serve, open_page: OpenPage) -> None:
    served = serve(engine_with())
    page = open_page(served, token=served.token("asker", "ann"))
    role = page.locator(".shell-user")
    expect(role).to_contain_text("asker")
    served.engine.users.change_role("ann", "approver")
    page.evaluate("window.dispatchEvent(new Event('focus'))")
    page.wait_for_timeout(300)
    expect(role).to_contain_text("asker")  # read too recently
    page.evaluate("Date.now = ((now) => () => now() + 61000)(Date.now)")
    page.evaluate("window.dispatchEvent(new Event('focus'))")
    expect(role).to_contain_text("approver")


def test_views_open_while_the_server_is_away(
    engine_with: MakeEngine, serve: Serve, open_page: OpenPage, watched: Watched
) -> None:
    watched.allowed.append("ERR_INTERNET_DISCONNECTED")
    page = open_page(serve(engine_with()))
    page.fill("#question", "half a quest")
    page.context.set_offline(True)
    page.get_by_role("link", name="Evaluator").click()
    expect(page.get_by_role("heading", name="Evaluator")).to_be_visible()
    page.context.set_offline(False)
    page.get_by_role("link", name="Ask", exact=True).click()
    expect(page.locator("#question")).to_have_value("half a quest")


def test_the_sign_in_form_is_translated_and_reloads_what_was_refused(
    engine_with: MakeEngine, serve: Serve, open_page: OpenPage, watched: Watched
) -> None:
    watched.allowed.append(UNAUTHORIZED)
    page = open_page(serve(engine_with()), locale="zh-CN")
    end_session(page)
    page.locator(".shell-nav a").nth(4).click()
    expect(page.get_by_role("dialog")).to_contain_text("会话已结束")
    expect(page.locator("main .notice")).to_contain_text("您已退出登录。")
    assert "Authorization" not in page.locator("body").inner_text()
    page.fill("#token", TOKEN)
    page.keyboard.press("Enter")
    expect(page.locator("main")).to_contain_text("CitationAccuracy")  # reloaded after signing in


def test_a_conversation_survives_a_reload(engine_with: MakeEngine, serve: Serve, open_page: OpenPage) -> None:
    page = open_page(serve(engine_with()))
    ask(page, QUESTION)
    expect(page.locator("article.answer")).to_have_count(1)
    expect(page).to_have_url(re.compile(r"#/c/[\w-]+$"))
    address = page.url
    ask(page, "When is a lost laptop reported?")
    expect(page.locator("article.answer")).to_have_count(2)
    assert page.url == address
    page.reload()
    expect(page.locator(".ask-question")).to_have_text([QUESTION, "When is a lost laptop reported?"])
    expect(page.locator("article.answer").last).to_contain_text("within one hour")
    page.get_by_role("link", name="New question").click()
    expect(page.locator(".ask-turn")).to_have_count(0)


def test_a_run_has_a_link(engine_with: MakeEngine, serve: Serve, open_page: OpenPage) -> None:
    page = open_page(serve(engine_with()))
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    ask(page, QUESTION)
    page.get_by_role("button", name="Copy link").click()
    expect(page.get_by_text("Copied. Whoever asked and approvers can open it.")).to_be_visible()
    page.goto(page.evaluate("navigator.clipboard.readText()"))
    expect(page.get_by_role("heading", level=2).first).to_have_text(QUESTION)
    expect(page.locator("article.answer")).to_contain_text("25 days")
    link = page.get_by_role("link", name="Receipt").get_attribute("href") or ""
    assert link.startswith(f"/api/runs/{page.url.split('/')[-1]}/page?lang=en&zone=")


def test_unknown_runs_and_pages_are_not_found(
    engine_with: MakeEngine, serve: Serve, open_page: OpenPage, watched: Watched
) -> None:
    watched.allowed.append("status of 404")
    page = open_page(serve(engine_with()), "#/runs/nothing")
    expect(page.get_by_role("heading", level=1)).to_have_text("Run not found")
    page.goto(page.url.split("#")[0] + "#/no/such/place")
    expect(page.get_by_role("heading", level=1)).to_have_text("Page not found")


def test_a_failed_run_can_be_asked_again(engine_with: MakeEngine, serve: Serve, open_page: OpenPage) -> None:
    replies: list[Any] = [RuntimeError("The model is away.")] * 4 + [GOOD]
    llm = ScriptedLLM.by_role(writer=replies, reviewer=PASS, judge=judged(95))
    page = open_page(serve(engine_with(llm)))
    ask(page, QUESTION)
    expect(page.locator(".ask-failed")).to_contain_text("No answer")
    expect(stage(page, "Draft")).to_contain_text("no draft")
    expect(stage(page, "Draft")).to_have_attribute("data-tone", "bad")
    page.get_by_role("button", name="Ask again").click()
    expect(page.locator("article.answer")).to_contain_text("25 days")
    open_stages(page)
    expect(stage(page, "Draft")).to_contain_text("1 draft")


@pytest.mark.parametrize(
    "locale, stopped, broken",
    [
        ("en-GB", "You stopped it.", "interrupted"),
        ("zh-CN", "您已停止。", "已中断"),
        ("ja-JP", "停止しました。", "中断"),
    ],
)
def test_a_stopped_run_is_shown_as_interrupted_in_every_language(
    engine_with: MakeEngine, serve: Serve, open_page: OpenPage, locale: str, stopped: str, broken: str
) -> None:
    writing, finish = threading.Event(), threading.Event()

    def writer(*_: Any) -> str:
        writing.set()
        assert finish.wait(60)
        return GOOD

    page = open_page(serve(engine_with(ScriptedLLM.by_role(writer=writer, reviewer=PASS))), locale=locale)
    ask(page, QUESTION)
    assert writing.wait(20)
    page.locator(".ask-stop").click()
    expect(page.locator(".ask-stopped p")).to_have_text(stopped)
    expect(page.get_by_role("alert")).to_have_count(0)
    finish.set()
    draft = page.locator(".timeline-stage", has_text=broken)
    expect(draft).to_have_attribute("data-state", "broken")


def test_a_citation_stays_on_the_line_of_its_sentence(
    engine_with: MakeEngine, serve: Serve, open_page: OpenPage
) -> None:
    """Chinese and Japanese text may break between any two characters."""
    llm = ScriptedLLM.by_role(
        writer="正社員の年次有給休暇は二十日です。[3] 残りは三月三十一日までです。[3]", reviewer=PASS
    )
    page = open_page(serve(engine_with(llm)), locale="ja-JP", width=360)
    ask(page, "有給休暇は何日ですか？")
    cites = page.locator("article.answer .md-cite")
    expect(cites.first).to_be_visible()
    torn = """(cite) => {
        let before = cite.previousSibling;
        while (before.nodeType !== 3) before = before.lastChild;
        const range = document.createRange();
        range.setStart(before, before.length - 1);
        range.setEnd(before, before.length);
        return Math.abs(range.getBoundingClientRect().bottom - cite.getBoundingClientRect().bottom) > 8;
    }"""
    text = page.locator("article.answer .answer-text, article.answer").first
    for width in range(200, 340, 9):
        text.evaluate("(one, width) => { one.style.width = `${width}px`; }", width)
        assert not any(cites.nth(at).evaluate(torn) for at in range(cites.count())), width


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
    expect(page.locator(".ask-question")).to_have_attribute("lang", "ja")
    levels = page.locator("main").get_by_role("heading").evaluate_all("all => all.map(({ tagName }) => tagName[1])")
    assert levels == ["1", "2", *"3" * (len(levels) - 2)]


def test_typed_text_survives_an_expired_session(
    engine_with: MakeEngine, serve: Serve, open_page: OpenPage, watched: Watched
) -> None:
    watched.allowed.append(UNAUTHORIZED)
    page = open_page(serve(engine_with()))
    page.fill("#question", QUESTION)
    end_session(page)
    page.keyboard.press("Enter")
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("Your session has ended")
    page.fill("#token", "wrong")
    page.keyboard.press("Enter")
    expect(dialog.get_by_role("alert")).to_contain_text("not valid")
    page.fill("#token", TOKEN)
    page.keyboard.press("Enter")
    expect(dialog).to_have_count(0)
    page.get_by_role("button", name="Ask again").click()
    expect(page.locator("article.answer")).to_contain_text("25 days")
    expect(page.locator(".ask-question")).to_have_text([QUESTION])


def test_typed_text_survives_a_reload_and_another_view(
    engine_with: MakeEngine, serve: Serve, open_page: OpenPage
) -> None:
    page = open_page(serve(engine_with()))
    page.fill("#question", "half a quest")
    page.reload()
    assert page.input_value("#question") == "half a quest"
    page.get_by_role("link", name="Documents").click()
    page.get_by_role("link", name="Ask", exact=True).click()
    assert page.input_value("#question") == "half a quest"


def test_signing_out_shows_the_sign_in_form(
    serve: Serve, engine_with: MakeEngine, open_page: OpenPage, watched: Watched
) -> None:
    watched.allowed.append(UNAUTHORIZED)
    page = open_page(serve(engine_with()))
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
    page.fill("#token", TOKEN)
    page.keyboard.press("Enter")
    expect(page.locator("#question")).to_be_visible()


def test_language_and_theme_are_stored(engine_with: MakeEngine, serve: Serve, open_page: OpenPage) -> None:
    page = open_page(serve(engine_with()))
    light = page.evaluate("getComputedStyle(document.body).backgroundColor")
    bar = "[...document.querySelectorAll('meta[name=theme-color]')].find(one => matchMedia(one.media).matches).content"
    expect(page.locator(".shell-head")).to_have_css("background-color", "rgb(255, 255, 255)")
    assert page.evaluate(bar) == "#ffffff"
    page.get_by_label("Theme").select_option("dark")
    expect(page.locator(".shell-head")).to_have_css("background-color", "rgb(23, 26, 31)")
    assert page.evaluate(bar) == "#171a1f"
    page.get_by_label("Language").select_option("zh")
    expect(page.get_by_role("heading", level=1)).to_have_text("向您的文档提问")
    page.reload()
    expect(page.get_by_role("heading", level=1)).to_have_text("向您的文档提问")
    assert page.evaluate("document.documentElement.lang") == "zh-Hans"
    expect(page).to_have_title("提问 · Veracity")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") != light


@pytest.mark.parametrize("width", [320, 760])
def test_narrow_screens_do_not_scroll_sideways(
    engine_with: MakeEngine, serve: Serve, open_page: OpenPage, width: int
) -> None:
    page = open_page(serve(engine_with()), width=width, height=640)
    ask(page, QUESTION)
    expect(page.locator("article.answer")).to_contain_text("25 days")
    page.get_by_role("button", name="How it was made").click()
    stage(page, "Grade").get_by_role("button").click()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.get_by_role("button", name="Preferences").click()
    expect(page.get_by_label("Language")).to_be_visible()


def test_events_are_parsed_from_pieces_of_any_size(engine_with: MakeEngine, serve: Serve, open_page: OpenPage) -> None:
    first = ': \n\nid: 1.1\r\nevent: draft\r\ndata: {"text":\r\ndata:  "二十日 🙂"}\r\n\r\n'
    stream = first + 'id: 2\ndata: {"kind":"answer"}\n\nevent: half\n'
    read = """async ([stream, modules]) => {
        const { eventParser } = await import(`${modules}/lib/sse.js`);
        const readings = new Set();
        for (let at = 0; at <= stream.length; at += 1) {
            const found = [];
            const parse = eventParser((event) => found.push(event));
            [stream.slice(0, at), stream.slice(at)].forEach((text) => parse(text));
            readings.add(JSON.stringify(found));
        }
        return [...readings].map((one) => JSON.parse(one));
    }"""
    page = open_page(serve(engine_with()))
    assert page.evaluate(read, [stream, MODULES]) == [
        [
            {"id": "1.1", "kind": "draft", "data": {"text": "二十日 🙂"}},
            {"id": "2", "kind": "message", "data": {"kind": "answer"}},
        ]
    ]


def test_an_empty_workspace_sends_nothing_and_says_what_to_do(
    serve: Serve, open_page: OpenPage, tmp_path: Path
) -> None:
    with Veracity(tmp_path, settings=Settings.model_validate({"models": {"embedder": "none"}})) as engine:
        engine.prepare()
        served = serve(engine)
        hints: dict[Role, str] = {"admin": "Add documents", "asker": "Ask an administrator to add some."}
        for role, said in hints.items():
            page = open_page(served, token=served.token(role))
            expect(page.locator(".ask-examples")).to_contain_text(said)
            expect(page.get_by_role("button", name="Limit to documents")).to_have_count(0)
            ask(page, QUESTION)
            expect(page.get_by_role("button", name="Ask", exact=True)).to_be_disabled()
            expect(page.locator(".ask-turn")).to_have_count(0)
            expect(page.locator("#question")).to_have_value(QUESTION)


def test_an_abstention_is_said_once_with_the_nearest_passages(
    engine_with: MakeEngine, serve: Serve, open_page: OpenPage
) -> None:
    page = open_page(serve(engine_with()))
    ask(page, "What does a taxi to the moon cost?")
    expect(page.locator(".verdict-bar")).to_contain_text("no answer in the documents")
    answer = page.locator("article.answer")
    expect(answer.locator(".notice")).to_have_count(0)
    expect(page.get_by_text("Ask in other words")).to_be_visible()
    expect(answer.get_by_role("heading", name="Nearest passages")).to_be_visible()
    expect(answer.locator(".answer-source").first).to_be_visible()


def test_a_question_without_words_is_refused_in_the_language_of_the_page(
    engine_with: MakeEngine, serve: Serve, open_page: OpenPage, watched: Watched
) -> None:
    watched.allowed.append("status of 400")
    page = open_page(serve(engine_with()), locale="zh-CN")
    ask(page, "？？？")
    expect(page.locator(".ask-turn")).to_contain_text("问题中没有文字：请用文字提问。")
