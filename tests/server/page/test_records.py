"""What is recorded about an answer, in a real browser: words and numbers, searches, receipts, print and notices."""

import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.runs.scripts import GOOD, PASS, QUESTION, WRONG, fail, judged
from tests.server.conftest import MODULES, MakeEngine, OpenPage, Serve
from tests.server.page.test_ask import ask, open_stages, stage
from veracity.testing import ScriptedLLM

TABLE = "**Leave** is as follows:\n\n| Staff | Days |\n| --- | --- |\n| Full-time | **25** [1] |"
WORD = re.compile(r"(weak|fair|strong) \(\d{1,3}\)")


def script(*scores: float, **roles: Any) -> ScriptedLLM:
    return ScriptedLLM.by_role(**{"writer": GOOD, "reviewer": PASS, "judge": judged(*scores), **roles})


def answered(page: Page) -> None:
    ask(page, QUESTION)
    expect(page.locator("article.answer")).to_contain_text("25")


def test_searches_show_their_query_and_the_best_passages_also_later(
    engine_with: MakeEngine, serve: Serve, open_page: OpenPage
) -> None:
    page = open_page(serve(engine_with(script(95))))
    answered(page)
    for _ in range(2):
        open_stages(page)
        stage(page, "Retrieve").get_by_role("button").click()
        search = page.locator(".timeline-entry").first
        expect(search.locator("q")).to_have_text(QUESTION)
        expect(search).to_contain_text(re.compile(r"documents: \d+ passages?"))
        first = search.locator(".timeline-passages > li").first
        expect(first).to_contain_text("25 days of paid annual leave")
        expect(first.locator(".strength")).to_have_text(WORD)
        page.reload()
        expect(page.locator("article.answer")).to_contain_text("25 days")


def test_a_value_is_a_word_and_the_same_number_wherever_it_is_shown(
    engine_with: MakeEngine, serve: Serve, open_page: OpenPage
) -> None:
    page = open_page(serve(engine_with(script(95))))
    answered(page)
    card = page.locator(".answer-source").first
    expect(card).to_contain_text(WORD)
    relevance = (WORD.search(card.inner_text()) or [""])[0]
    open_stages(page)
    stage(page, "Retrieve").get_by_role("button").click()
    expect(page.locator(".timeline-passages .strength", has_text=relevance).first).to_be_visible()
    stage(page, "Grade").get_by_role("button").click()
    expect(page.locator(".timeline-shares dt").first).to_have_text("Relevance of the best three")
    expect(page.locator(".timeline-entry h4").first).to_have_text(re.compile(r"Evidence: (weak|fair|strong) \(\d+\)"))
    tones = {"weak": "bad", "fair": "warn", "strong": "good"}
    for row in page.locator(".timeline-shares dd").all():
        word = row.inner_text().split()[0]
        expect(row.locator(".meter")).to_have_attribute("data-tone", tones[word])
    stage(page, "Review").get_by_role("button").click()
    expect(page.locator(".timeline-details")).to_contain_text("confidence: strong (90)")


def test_words_have_the_limits_of_the_settings(engine_with: MakeEngine, serve: Serve, open_page: OpenPage) -> None:
    page = open_page(serve(engine_with(script(95), quality={"high": 0.2, "medium": 0.1})))
    told = """async ([modules, shares]) => {
        const { rate, scales, setScales, scoreScale } = await import(`${modules}/lib/strength.js`);
        setScales((await (await fetch("/api/me")).json()).scales);
        return [...shares.map((share) => rate(share, scales.evidence).text), rate(0.7499, scoreScale(0.75)).text];
    }"""
    assert page.evaluate(told, [MODULES, [0.21, 0.199, 0.05]]) == ["strong (21)", "fair (19)", "weak (5)", "fair (74)"]


def test_the_receipt_is_in_the_language_of_the_page_and_leads_back(
    engine_with: MakeEngine, serve: Serve, open_page: OpenPage
) -> None:
    llm = script(95, writer=[WRONG, TABLE], reviewer=[fail("It is 25 days."), PASS])
    page = open_page(serve(engine_with(llm, approval={"policy": "never"})), locale="ja-JP")
    answered(page)
    expect(page.locator(".answer-notices")).to_contain_text("レビュー")  # the question is in English
    with page.context.expect_page() as opened:
        page.locator(".ask-foot a").last.click()
    receipt = opened.value
    expect(receipt.locator("html")).to_have_attribute("lang", "ja")
    expect(receipt.locator("#answer .notices")).to_contain_text("レビュー")
    expect(receipt.locator("#answer th").first).to_have_text("Staff")
    expect(receipt.locator("body")).not_to_contain_text("**")
    assert receipt.evaluate("document.documentElement.scrollHeight") < 2000
    colours = "getComputedStyle(document.body).backgroundColor"
    assert receipt.evaluate(colours) == page.evaluate(colours)
    receipt.locator("nav a[href='#drafts']").click()
    expect(receipt.locator("#drafts h3").first).to_have_text("下書き 1")
    expect(receipt.locator("#drafts h3").nth(1)).to_have_text("下書き 2")
    expect(receipt.locator("#drafts ins").first).to_be_visible()
    receipt.get_by_role("link", name="回答に戻る").click()
    expect(receipt.locator("article.answer")).to_contain_text("25")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_receipt_fits_a_phone(engine_with: MakeEngine, serve: Serve, open_page: OpenPage, theme: str) -> None:
    served = serve(engine_with(script(95, writer=TABLE), approval={"policy": "never"}))
    page = open_page(served, width=390, theme=theme)
    answered(page)
    page.goto(f"{served.url}{page.locator('.ask-foot a').last.get_attribute('href')}")
    page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_print_has_the_verdict_the_quotes_and_the_date(
    engine_with: MakeEngine, serve: Serve, open_page: OpenPage
) -> None:
    page = open_page(serve(engine_with(script(95))))
    answered(page)
    quote = page.locator(".answer-source q").first
    expect(quote).to_be_hidden()
    page.emulate_media(media="print")
    expect(quote).to_contain_text("25 days of paid annual leave")
    expect(page.locator(".verdict-bar")).to_contain_text("strong score 95 (threshold 75)")
    expect(page.locator(".ask-turn > .print-only")).to_have_text(re.compile(r"\d{4}"))
    expect(page.locator(".verdict-bar button")).to_be_hidden()


def test_copied_text_has_no_signs_of_markdown(engine_with: MakeEngine, serve: Serve, open_page: OpenPage) -> None:
    page = open_page(serve(engine_with(script(95, writer=TABLE), approval={"policy": "never"})))
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    answered(page)
    page.get_by_role("button", name="Copy", exact=True).click()
    expect(page.get_by_text("Copied.")).to_be_visible()
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied.startswith("Leave is as follows:\n\nStaff · Days\nFull-time · 25 [1]\n\n[1] ")


def test_readable_text_of_lists_code_and_links(engine_with: MakeEngine, serve: Serve, open_page: OpenPage) -> None:
    page = open_page(serve(engine_with(script(95))))
    told = "async ([modules, text]) => (await import(`${modules}/lib/markdown.js`)).readableText(text)"
    text = "# Head\n\n1. **年假：**20 天[1]\n2. two\n   - inner\n\n> [site](http://a.example) `x*y`"
    expected = "Head\n\n1. 年假：20 天[1]\n2. two\n  • inner\n\nsite (http://a.example) x*y"
    assert page.evaluate(told, [MODULES, text]) == expected
