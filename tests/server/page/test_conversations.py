"""The list of conversations in a real browser: search, open, delete (SPEC D2, X3, X5)."""

import json
import re
from datetime import datetime, timedelta

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.runs.conftest import MakeEngine
from tests.runs.scripts import QUESTION
from tests.server.conftest import OpenPage, Serve, Served, Watched

HOTEL = "How much may a hotel cost a night?"
LEAVE_ZH = "正式员工每年有多少天年假？"
LEAVE_JA = "正社員の有給休暇は年に何日ありますか。"


@pytest.fixture
def served(engine_with: MakeEngine, serve: Serve) -> Served:
    engine = engine_with()
    engine.ask(QUESTION, conversation="leave")
    engine.ask(LEAVE_ZH, conversation="年假 1")
    engine.ask("Is every laptop encrypted?", conversation="leave")
    engine.ask(HOTEL)
    engine.ask(LEAVE_JA, conversation="hers", user="anna")
    return serve(engine)


def titles(page: Page) -> Locator:
    return page.get_by_role("group", name=re.compile("Your conversations|您的对话|あなたの会話")).locator("a")


def test_conversations_are_listed_and_searched(served: Served, open_page: OpenPage) -> None:
    page = open_page(served, "#/conversations")
    expect(titles(page)).to_contain_text([QUESTION, LEAVE_ZH])
    expect(titles(page).first).to_contain_text("2 questions")
    expect(titles(page).nth(1)).to_contain_text("1 question ·")
    single = page.get_by_role("region", name="Single questions").locator("a")
    expect(single).to_have_count(1)
    expect(single).to_contain_text(HOTEL)
    run_id = next(run.run_id for run in served.engine.runs() if run.question == HOTEL)
    assert single.get_attribute("href") == f"#/runs/{run_id}"

    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url) if "query=" in request.url else None)
    field = page.get_by_label("Search your conversations")
    field.dispatch_event("compositionstart")
    field.fill("nian")
    page.wait_for_timeout(300)
    assert asked == [], "no search during composition"
    field.fill("年假")
    field.dispatch_event("compositionend")
    expect(titles(page)).to_have_count(1)
    expect(titles(page)).to_contain_text(LEAVE_ZH)
    expect(page.get_by_role("status").filter(has_text="Conversations found: 1")).to_be_visible()
    expect(page.get_by_role("region", name="Single questions")).to_have_count(0)
    page.clock.install()
    page.clock.pause_at(datetime.now() + timedelta(minutes=1))
    for letter in "xyz":
        field.press_sequentially(letter)
        page.clock.run_for(100)  # milliseconds
    page.clock.resume()
    expect(page.get_by_text("None of your conversations contains “年假xyz”.")).to_be_visible()
    assert len(asked) == 2, "searches are debounced"
    field.press("Escape")
    expect(titles(page)).to_have_count(2)
    expect(field).to_be_focused()
    titles(page).nth(1).click()
    assert page.evaluate("decodeURIComponent(location.hash)") == "#/c/年假 1"
    expect(page.get_by_text(LEAVE_ZH).first).to_be_visible()


def test_deleting_explains_itself_and_removes_the_conversation_x3(
    served: Served, open_page: OpenPage, watched: Watched
) -> None:
    page = open_page(served, "#/conversations")
    page.get_by_role("button", name=f"Delete “{QUESTION}”").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("Its 2 questions and their answers")
    expect(dialog).to_contain_text("receipts")
    expect(dialog.get_by_role("button", name="Keep it")).to_be_focused()
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    expect(titles(page)).to_have_count(2)
    page.get_by_role("button", name=f"Delete “{QUESTION}”").click()
    dialog.get_by_role("button", name="Delete permanently").click()
    expect(dialog).to_have_count(0)
    expect(titles(page)).to_have_count(1)
    expect(page.get_by_text(f"“{QUESTION}” was deleted.")).to_be_visible()
    expect(page.get_by_role("heading", name="Conversations", exact=True)).to_be_focused()  # its row is gone
    page.get_by_label("Search your conversations").fill("年假")
    expect(page.get_by_text("Conversations found: 1")).to_be_visible()
    expect(page.get_by_text("was deleted.")).to_have_count(0)
    assert [one.conversation for one in served.engine.conversations()] == ["年假 1"]
    assert QUESTION not in [run.question for run in served.engine.runs()]


def test_only_own_conversations_are_listed_with_translated_times_x5(served: Served, open_page: OpenPage) -> None:
    token = served.token("asker", "anna")
    page = open_page(served, "#/conversations", token=token, locale="ja-JP", width=360, theme="dark")
    expect(titles(page)).to_have_count(1)
    expect(titles(page)).to_contain_text([re.compile("質問 1 件.*(今|分前)")])
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert "conversations." not in page.locator("main").inner_text()
    page.get_by_role("button", name=re.compile("を削除")).click()
    expect(page.get_by_role("dialog")).to_contain_text("完全に削除")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_an_empty_list_explains_itself(engine_with: MakeEngine, serve: Serve, open_page: OpenPage) -> None:
    page = open_page(serve(engine_with()), "#/conversations", locale="zh-CN", width=320)
    expect(page.get_by_text("还没有对话")).to_be_visible()
    page.get_by_label("偏好设置").click()
    page.get_by_label("语言").select_option("en")
    title = page.get_by_role("heading", name="Conversations", exact=True).bounding_box()
    assert title and title["height"] < 40, "the title fits on a line"


def test_recent_conversations_are_in_the_side_bar_with_their_verdict(served: Served, open_page: OpenPage) -> None:
    served.engine.ask("What does a taxi to the moon cost?", conversation="moon")
    page = open_page(served)
    recent = page.get_by_role("navigation", name="Recent").get_by_role("link")
    expect(recent).to_have_text([re.compile("taxi to the moon.*no answer in the documents", re.S), QUESTION, LEAVE_ZH])
    recent.nth(1).click()
    expect(page).to_have_url(re.compile("#/c/leave$"))
    expect(recent.nth(1)).to_have_attribute("aria-current", "page")
    page.fill("#question", HOTEL)
    page.keyboard.press("Enter")
    expect(recent.first).to_have_text(QUESTION)  # now it is the latest
    page.goto(f"{served.url}/#/conversations")
    expect(titles(page).nth(1)).to_contain_text("no answer in the documents")
    page.set_viewport_size({"width": 390, "height": 800})
    expect(page.get_by_role("navigation", name="Recent")).to_have_count(0)


def verdict_of(row: Locator) -> Locator:
    return row.locator(".verdict")


def test_rows_have_the_verdict_of_the_last_answer_in_the_same_words_as_the_answer(
    served: Served, open_page: OpenPage
) -> None:
    page = open_page(served, "#/c/leave")
    expect(page.locator(".verdict-bar .verdict")).to_have_count(2)
    shown = page.locator(".verdict-bar .verdict").last
    texts, tone = shown.locator(".verdict-part").all_inner_texts(), shown.get_attribute("data-tone")
    faults = shown.locator(".verdict-part:is([data-tone=warn], [data-tone=bad])").all_inner_texts()
    page.goto(f"{served.url}/#/conversations")
    expect(titles(page).first).to_contain_text("Last answer:")
    expect(verdict_of(titles(page).first).locator(".verdict-part")).to_have_text(faults or texts)
    expect(verdict_of(titles(page).first)).to_have_attribute("data-tone", tone or "")
    expect(titles(page).nth(1)).not_to_contain_text("Last answer:")  # its only one
    expect(verdict_of(page.get_by_role("region", name="Single questions").locator("a"))).to_be_visible()


def test_a_row_says_that_an_earlier_answer_waits(engine_with: MakeEngine, serve: Serve, open_page: OpenPage) -> None:
    waiting = engine_with(approval={"policy": "always"}).ask(QUESTION, conversation="leave")
    assert waiting.status == "awaiting_approval"
    engine = engine_with()
    assert engine.ask(HOTEL, conversation="leave").status == "answered"
    page = open_page(serve(engine), "#/conversations", locale="ja-JP")
    expect(verdict_of(titles(page).first)).to_have_text("承認待ち")
    expect(verdict_of(titles(page).first)).to_have_attribute("data-tone", "accent")
    recent = page.get_by_role("navigation", name="最近の会話").get_by_role("link")
    expect(verdict_of(recent.first)).to_have_text("承認待ち")
    engine.decide(waiting.approval_id, "reject", by="anna")
    page.reload()
    expect(verdict_of(titles(page).first)).not_to_have_text("承認待ち")
    expect(titles(page).first).to_contain_text("最新の回答：")


def test_a_conversation_is_renamed_pinned_and_grouped_by_day(served: Served, open_page: OpenPage) -> None:
    page = open_page(served, "#/conversations")
    expect(page.get_by_role("heading", level=2).first).to_have_text("today")
    page.get_by_role("button", name=f"Pin “{LEAVE_ZH}”").click()
    expect(page.get_by_role("heading", level=2)).to_contain_text(["Pinned", "today"])
    expect(titles(page).first).to_contain_text(LEAVE_ZH)
    page.get_by_role("button", name=f"Rename “{LEAVE_ZH}”").click()
    dialog = page.get_by_role("dialog", name="Rename this conversation")
    expect(dialog.get_by_label("Title")).to_be_focused()
    dialog.get_by_label("Title").fill("Shanghai leave")
    page.keyboard.press("Enter")
    expect(dialog).to_have_count(0)
    expect(titles(page).first).to_contain_text("Shanghai leave")
    expect(page.get_by_role("navigation", name="Recent").locator("a").first).to_contain_text("Shanghai leave")
    page.get_by_role("button", name="Unpin “Shanghai leave”").click()
    expect(titles(page).last).to_contain_text("Shanghai leave")
    page.get_by_role("button", name="Rename “Shanghai leave”").click()
    dialog.get_by_label("Title").fill("")
    dialog.get_by_role("button", name="Rename").click()
    expect(titles(page).last).to_contain_text(LEAVE_ZH)


def test_a_conversation_is_exported_from_the_list_and_from_itself(served: Served, open_page: OpenPage) -> None:
    page = open_page(served, "#/conversations", width=390)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.get_by_role("button", name=f"Export “{LEAVE_ZH}”").click()
    dialog = page.get_by_role("dialog", name="Export this conversation")
    expect(dialog).to_contain_text("Whoever gets the file can read them.")
    with page.expect_download() as markdown:
        dialog.get_by_role("link", name="Markdown").click()
    assert markdown.value.suggested_filename.endswith(".md")
    assert LEAVE_ZH in markdown.value.path().read_text(encoding="utf-8")
    page.goto(f"{served.url}/#/c/leave")
    page.get_by_role("button", name="Export", exact=True).click()
    with page.expect_download() as exported:
        dialog.get_by_role("link", name="JSON").click()
    turns = json.loads(exported.value.path().read_text(encoding="utf-8"))["turns"]
    assert [turn["question"] for turn in turns] == [QUESTION, "Is every laptop encrypted?"]


def test_the_receipt_link_says_who_can_open_it(served: Served, open_page: OpenPage) -> None:
    page = open_page(served, "#/c/leave")
    receipt = page.get_by_role("link", name="Receipt").first
    expect(receipt).to_have_attribute("title", "Whoever asked and approvers can open it.")
