"""Examples, follow-ups, an edited question and chosen documents in a real browser."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.runs.scripts import QUESTION
from tests.server.conftest import MakeEngine, OpenPage, Serve, Served

LAPTOPS = "Is every laptop encrypted?"


@pytest.fixture
def served(engine_with: MakeEngine, serve: Serve) -> Served:
    return serve(engine_with())


def ask(page: Page, question: str) -> None:
    page.fill("#question", question)
    page.keyboard.press("Enter")


def limits(page: Page) -> list[str]:
    return page.locator(".ask-foot-bar .ask-chips li").all_inner_texts()


def test_examples_are_those_that_were_tried_and_prefer_the_language_of_the_page(
    served: Served, open_page: OpenPage
) -> None:
    page = open_page(served)
    expect(page.locator("#question")).to_be_visible()
    expect(page.locator(".ask-examples")).to_have_count(0)
    served.engine.suggestions.find_examples()
    served.app.state.feed.publish("examples")
    examples = page.get_by_role("region", name="For example").get_by_role("button")
    tried = {example.question for example in served.engine.suggestions.examples()}
    expect(examples.first).to_be_visible()
    assert set(examples.all_inner_texts()) <= tried
    for locale, language in (("zh-CN", "zh"), ("ja-JP", "ja")):
        first = open_page(served, locale=locale).locator(".ask-examples button").first
        expect(first).to_have_attribute("lang", language)


def test_an_example_is_answered(served: Served, open_page: OpenPage) -> None:
    served.engine.suggestions.find_examples()
    page = open_page(served)
    page.locator(".ask-examples button").first.click()
    page.keyboard.press("Enter")
    expect(page.locator("article.answer")).to_be_visible()
    expect(page.locator(".verdict-bar")).to_contain_text("supported")


def test_follow_ups_are_offered_under_the_last_answer(served: Served, open_page: OpenPage) -> None:
    page = open_page(served)
    ask(page, QUESTION)
    follow_ups = page.get_by_role("region", name="Ask next").get_by_role("button")
    question = "How many days may be carried over?"
    expect(follow_ups).to_have_text([question, "Is leave requested in the portal?"])
    follow_ups.first.click()
    expect(page.locator("#question")).to_have_value(question)
    expect(page.locator("#question")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("article.answer")).to_have_count(2)
    expect(page.locator("article.answer").last).to_contain_text("Up to 5 days")
    expect(page.get_by_role("region", name="Ask next")).to_have_count(1)  # under the last answer only
    assert [run.question for run in served.engine.runs()] == [question, QUESTION]


def test_a_question_is_edited_and_asked_again(served: Served, open_page: OpenPage) -> None:
    page = open_page(served)
    ask(page, LAPTOPS)
    expect(page.locator("article.answer")).to_be_visible()
    page.get_by_role("button", name="Edit question").click()
    expect(page.locator("#question")).to_be_focused()
    expect(page.locator("#question")).to_have_value(LAPTOPS)
    ask(page, QUESTION)
    expect(page.locator("h2.ask-question")).to_have_text([LAPTOPS, QUESTION])
    expect(page.locator("article.answer").last).to_contain_text("25 days")
    run_id = served.engine.runs()[0].run_id
    page.goto(f"{served.url}/#/runs/{run_id}")
    page.get_by_role("button", name="Edit question").click()
    expect(page.locator("#question")).to_have_value(QUESTION)
    expect(page.get_by_role("heading", name="Ask your documents")).to_be_visible()


def test_questions_are_limited_to_chosen_documents(
    engine_with: MakeEngine, serve: Serve, open_page: OpenPage, tmp_path: Path
) -> None:
    engine = engine_with()
    (tmp_path / "hr").mkdir()
    (tmp_path / "hr" / "holidays.md").write_text("# Holidays\n\nInterns have 12 days of paid annual leave a year.\n")
    engine.ingest(tmp_path / "hr")
    served = serve(engine)
    page = open_page(served, width=390, theme="dark")
    page.get_by_role("button", name="Limit to documents").click()
    dialog = page.get_by_role("dialog", name="Limit questions to documents or folders")
    search = dialog.get_by_label("Search by title or path")
    expect(search).to_be_focused()
    search.fill("nothing like it")
    expect(dialog).to_contain_text("No document or folder matches.")
    search.fill("/hr")
    expect(dialog.get_by_role("checkbox")).to_have_count(2)
    dialog.get_by_role("checkbox", name="Folder, 1 document").check()
    search.fill("laptops")
    dialog.get_by_role("checkbox", name="Laptops").check()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    dialog.get_by_role("button", name="Done").click()
    expect(dialog).to_have_count(0)
    assert len(limits(page)) == 2
    page.get_by_role("button", name="No longer limit to laptops").click()
    ask(page, "How many days of paid annual leave are there a year?")
    expect(page.locator("article.answer")).to_contain_text("12 days")
    expect(page.locator(".ask-turn .ask-chips li")).to_have_count(1)
    assert served.engine.receipt("last").only == [str(tmp_path / "hr")]
    assert len(limits(page)) == 1, "kept for the conversation"
    page.reload()
    expect(page.locator(".ask-turn .ask-chips li")).to_have_count(1)
    assert len(limits(page)) == 1
    other = open_page(served, page.url.split("/", 3)[3])
    expect(other.locator(".ask-turn .ask-chips li")).to_have_count(1)
    expect(other.locator(".ask-foot-bar .ask-chips li")).to_have_count(1)  # of the last question
    other.get_by_role("button", name="Change documents").click()
    other.get_by_role("button", name="Use all documents").click()
    other.get_by_role("button", name="Done").click()
    ask(other, QUESTION)
    expect(other.locator("article.answer").last).to_contain_text("25 days")
    assert served.engine.receipt("last").only == []


def test_an_asker_chooses_by_what_the_page_shows(served: Served, open_page: OpenPage) -> None:
    page = open_page(served, token=served.token("asker"), locale="ja-JP")
    page.get_by_role("button", name="文書を絞り込む").click()
    page.get_by_label("タイトルまたはパスで検索").fill("travel")
    page.get_by_role("checkbox", name="Travel").check()
    page.get_by_role("button", name="完了").click()
    ask(page, QUESTION)
    expect(page.locator("article.answer")).to_be_visible()
    expect(page.locator(".verdict-bar")).not_to_contain_text("25")
    assert served.engine.receipt("last").only == ["…/travel"]


@pytest.mark.parametrize("locale", ["en-GB", "zh-CN", "ja-JP"])
def test_the_choice_of_documents_fits_a_phone(served: Served, open_page: OpenPage, locale: str) -> None:
    served.engine.ask(QUESTION, conversation="c")
    page = open_page(served, "#/c/c", locale=locale, width=320)
    choice = page.get_by_role("button", name=re.compile("Limit to documents|限定文档|文書を絞り込む"))
    expect(choice).to_be_in_viewport(ratio=1)
    choice.click()
    gap = page.get_by_role("dialog").evaluate(
        "(dialog) => dialog.querySelector('input').getBoundingClientRect().top"
        " - dialog.querySelector('p').getBoundingClientRect().bottom"
    )
    assert gap >= 8, "the field does not touch the text above it"
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
