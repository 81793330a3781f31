"""How a source is shown in a real browser: rendered Markdown, pages of a PDF, the original file, previews, layout."""

from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.reading.documents import pdf
from tests.runs.scripts import GOOD, PASS, QUESTION, judged
from tests.server.conftest import MakeEngine, OpenPage, Serve, Served
from tests.server.page.test_source import answer, citation, evidence, sentence, show
from veracity.models import Document
from veracity.testing import ScriptedLLM

FILLER = "\n\n".join(f"Rule {number}: nothing of note is said here, and it is said at length." for number in range(60))
ROWS = "\n".join(f"| Vehicle {number} | {number} euro |" for number in range(120))
HANDBOOK = f"""# Handbook

{FILLER}

## Pay and rest

- Pay is monthly.
- A week with a **public holiday** earns one day.

1. 年假每年十五天。
2. 有給休暇は二十日です。

| Vehicle | Rate |
| --- | --- |
{ROWS}
| Private car | 0.41 euro |

{FILLER}
"""
HELD: dict[str, Any] = {"document_id": "handbook", "title": "Handbook", "location": "", "page": None, "headings": []}
PAGES = ("The fire drill is held twice a year.", "The fire warden of the second floor is Maeve Kelly.")


def cited(quote: str) -> dict[str, Any]:
    start = HANDBOOK.index(quote)
    place = {"start": start, "end": start + len(quote)}
    held = evidence(1, **HELD, text=quote, **place)
    return answer(sentence("So it is. [1]", citation(1, document_id="handbook", quote=quote, **place)), evidence=[held])


@pytest.fixture
def served(engine_with: MakeEngine, serve: Serve) -> Served:
    engine = engine_with()
    engine.add(Document(id="handbook", title="Handbook", text=HANDBOOK, markdown=True))
    return serve(engine)


@pytest.mark.parametrize(
    ("quote", "marked", "place"),
    [
        ("A week with a **public holiday** earns one day.", "A week with a public holiday earns one day.", "ul > li"),
        ("年假每年十五天。", "年假每年十五天。", "ol > li"),
        ("有給休暇は二十日です。", "有給休暇は二十日です。", "ol > li"),
        ("| Private car | 0.41 euro |", "Private car0.41 euro", "td"),
        ("## Pay and rest", "Pay and rest", "h4"),
        ("Rule 0: nothing", "Rule 0: nothing", "p"),
    ],
)
def test_a_quote_is_marked_in_rendered_markdown(
    served: Served, open_page: OpenPage, quote: str, marked: str, place: str
) -> None:
    page = open_page(served)
    show(page, cited(quote))
    page.locator("button.answer-cite").click()
    marks = page.locator(f".source-text {place} mark.source-quote")
    expect(marks.first).to_be_in_viewport()
    assert "".join(page.locator("mark.source-quote").all_text_contents()) == marked
    assert "".join(marks.all_text_contents()) == marked
    assert page.locator(".source-text").inner_text().find("## ") == -1
    assert page.evaluate("getComputedStyle(document.querySelector('.source-text')).color") == page.evaluate(
        "getComputedStyle(document.body).color"
    )


def test_rows_of_a_table_that_begins_earlier_are_a_table(served: Served, open_page: OpenPage) -> None:
    page = open_page(served)
    show(page, cited("| Private car | 0.41 euro |"))
    page.locator("button.answer-cite").click()
    expect(page.locator(".source-text tr")).not_to_have_count(0)
    assert page.locator(".source-text th").count() == 0
    assert "|" not in page.locator(".source-text").inner_text()
    page.get_by_role("button", name="Earlier text").click()
    expect(page.locator(".source-text th")).to_have_text(["Vehicle", "Rate"])
    assert "".join(page.locator("mark.source-quote").all_text_contents()) == "Private car0.41 euro"


def test_the_reader_and_the_search_render_markdown(served: Served, open_page: OpenPage) -> None:
    page = open_page(served, "#/documents")
    page.get_by_role("button", name="Handbook", exact=True).click()
    reader = page.get_by_role("dialog")
    expect(reader.get_by_role("heading", name="Pay and rest")).to_be_attached()
    expect(reader.get_by_role("cell", name="0.41 euro")).to_be_attached()
    page.keyboard.press("Escape")
    page.get_by_role("tab", name="Search").click()
    page.get_by_role("searchbox", name="Search").fill("public holiday week pay")
    page.keyboard.press("Enter")
    found = page.locator(".documents-passage", has_text="Pay is monthly.")
    expect(found.locator("strong")).to_have_text("public holiday")
    assert "**" not in found.inner_text()


def upload(served: Served, name: str, content: bytes) -> str:
    [outcome] = served.client().post("/api/documents", files={"files": (name, content)}).json()["outcomes"]
    return str(outcome["document_id"])


def open_pdf(served: Served, open_page: OpenPage, **options: Any) -> tuple[Page, str]:
    document_id = upload(served, "drill.pdf", pdf(*PAGES))
    text = served.engine.text(document_id)
    place = {"start": text.index("Maeve"), "end": text.index("Maeve") + 11, "document_id": document_id}
    held = evidence(1, **HELD | place, text="Maeve Kelly")
    page = open_page(served, **options)
    show(page, answer(sentence("It is Maeve. [1]", citation(1, quote="Maeve Kelly", **place)), evidence=[held]))
    page.locator("button.answer-cite").click()
    return page, document_id


def test_a_pdf_is_shown_as_pages_with_the_quote_highlighted(served: Served, open_page: OpenPage) -> None:
    page, _ = open_pdf(served, open_page)
    expect(page.locator(".source-quote")).to_have_text("Maeve Kelly")
    page.get_by_role("button", name="Page", exact=True).click()
    picture = page.get_by_role("img", name="Page 2 of 2")
    expect(picture).to_be_visible()
    page.wait_for_function("() => document.querySelector('.source-page img').naturalWidth > 1000")
    box, sheet = page.locator(".source-box").bounding_box(), picture.bounding_box()
    assert box and sheet
    assert sheet["x"] < box["x"] and box["x"] + box["width"] < sheet["x"] + sheet["width"]
    assert sheet["y"] < box["y"] and box["y"] + box["height"] < sheet["y"] + sheet["height"]
    page.get_by_role("button", name="Enlarge").click()
    expect(page.locator(".source-box")).to_be_in_viewport()
    page.get_by_role("button", name="Previous page").click()
    expect(page.get_by_role("status").filter(has_text="Page 1 of 2")).to_contain_text("the quote is not marked here")
    page.get_by_role("button", name="Text", exact=True).click()
    expect(page.locator(".source-quote")).to_have_text("Maeve Kelly")


def test_the_original_is_offered_while_it_is_there(served: Served, open_page: OpenPage) -> None:
    page, document_id = open_pdf(served, open_page)
    link = page.locator(".source").get_by_role("link", name="Open the original")
    address = link.get_attribute("href") or ""
    answered = page.request.get(f"{served.url}{address}")
    assert (answered.headers["content-type"], answered.body()) == ("application/pdf", pdf(*PAGES))
    page.keyboard.press("Escape")
    expect(page.locator(".source")).to_have_count(0)
    served.engine._parts.workspace.uploads_folder.joinpath("drill.pdf").unlink()
    page.locator("button.answer-cite").click()
    expect(page.locator(".source-quote")).to_have_text("Maeve Kelly")
    assert page.locator(".source-tools").count() == 0
    assert served.engine.text(document_id)


def test_an_html_original_runs_nothing(served: Served, open_page: OpenPage) -> None:
    content = b"<!doctype html><title>Rules</title><p>Staff have 31 days.</p><script>document.title = 'ran'</script>"
    document_id = upload(served, "rules.html", content)
    page = open_page(served, "#/documents")
    page.get_by_role("button", name="Rules", exact=True).click()
    with page.expect_download() as download:
        page.get_by_role("dialog").get_by_role("link", name="Open the original").click()
    assert download.value.suggested_filename == "rules.html" and document_id
    assert download.value.path().read_bytes() == content


@pytest.fixture
def preview(served: Served, open_page: OpenPage) -> Page:
    page = open_page(served)
    show(page, cited("A week with a **public holiday** earns one day."))
    return page


def test_pointing_at_a_citation_previews_its_quote(preview: Page) -> None:
    preview.locator("button.answer-cite").hover()
    tooltip = preview.get_by_role("tooltip")
    expect(tooltip).to_contain_text("A week with a public holiday earns one day.")
    expect(tooltip.locator("strong")).to_have_text("public holiday")
    expect(preview.locator("button.answer-cite")).to_have_accessible_description(
        "Handbook A week with a public holiday earns one day."
    )
    tooltip.hover()  # the pointer may move onto it
    preview.wait_for_timeout(300)
    expect(tooltip).to_be_in_viewport()
    preview.keyboard.press("Escape")
    expect(tooltip).to_have_count(0)


def test_the_keyboard_previews_and_esc_closes_only_the_preview(preview: Page) -> None:
    preview.keyboard.press("Tab")
    cite, tooltip = preview.locator("button.answer-cite"), preview.get_by_role("tooltip")
    expect(cite).to_be_focused()
    expect(tooltip).to_be_visible()
    preview.keyboard.press("Enter")
    expect(tooltip).to_have_count(0)
    expect(preview.locator(".source-quote").first).to_be_visible()
    preview.keyboard.press("Escape")  # closes the source, and the preview does not come back by itself
    expect(preview.locator(".source")).to_have_count(0)
    expect(cite).to_be_focused()
    preview.wait_for_timeout(300)
    expect(tooltip).to_have_count(0)
    preview.keyboard.press("Tab")
    preview.keyboard.press("Shift+Tab")
    expect(tooltip).to_be_visible()
    preview.keyboard.press("Escape")
    expect(tooltip).to_have_count(0)
    expect(cite).to_be_focused()


def test_a_touch_previews_nothing(preview: Page) -> None:
    cite = preview.locator("button.answer-cite")
    for kind in ("pointerenter", "pointerdown", "pointerup"):
        cite.dispatch_event(kind, {"pointerType": "touch", "bubbles": False})
    preview.wait_for_timeout(400)
    expect(preview.get_by_role("tooltip")).to_have_count(0)


STRAYS = """() => [...document.querySelectorAll(".answer-cite")].filter((cite) => {
    const place = cite.closest(".md-cite");
    const range = document.createRange();
    const text = place.previousSibling;
    const end = text.data.trimEnd().length;
    range.setStart(text, end - 1);
    range.setEnd(text, end);
    const word = range.getBoundingClientRect();
    return cite.getBoundingClientRect().top > word.bottom;
}).length"""


@pytest.mark.parametrize(
    "text",
    [
        "Staff earn one additional day of leave [1].",
        "员工每年享有十五天带薪年假 [1]。",
        "有給休暇は年に二十日です[1]。",
    ],
)
def test_a_citation_stays_with_its_word(served: Served, open_page: OpenPage, text: str) -> None:
    page = open_page(served)
    quote = "年假每年十五天。"
    value = cited(quote)
    parts = [sentence(text, value["sentences"][0]["citations"][0]) for _ in range(3)]
    show(page, answer(*parts, evidence=value["evidence"]))
    for width in range(160, 420, 7):
        page.set_viewport_size({"width": width, "height": 700})
        assert page.evaluate(STRAYS) == 0, width


def is_uncovered(page: Page, selector: str) -> bool:
    return bool(
        page.locator(selector).first.evaluate(
            """(element) => {
                const { left, top, width, height } = element.getBoundingClientRect();
                return element.contains(document.elementFromPoint(left + width / 2, top + height / 2));
            }"""
        )
    )


@pytest.mark.parametrize(("width", "height"), [(1440, 900), (1024, 768), (820, 1100), (390, 844)])
def test_the_source_does_not_cover_the_sentence(
    serve: Serve, engine_with: MakeEngine, open_page: OpenPage, width: int, height: int
) -> None:
    served = serve(engine_with())
    asked = served.client().post("/api/ask", json={"question": "How many days of annual leave do staff have?"}).json()
    page = open_page(served, f"#/runs/{asked['run_id']}", width=width, height=height)
    cite = page.locator("button.answer-cite").last
    page.evaluate("() => { document.querySelector('.ask-column').style.paddingBottom = '2000px'; }")  # room to scroll
    cite.scroll_into_view_if_needed()
    before = cite.bounding_box()
    cite.click()
    expect(page.locator(".source-quote, .source-passage").first).to_be_visible()
    page.wait_for_timeout(300)
    assert is_uncovered(page, "button.answer-cite")
    after = cite.bounding_box()
    assert before and after
    if width > 980:
        assert abs(after["y"] - before["y"]) < 4
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.parametrize(("width", "keeps_list"), [(1440, True), (1280, True), (1024, False)])
def test_a_source_in_the_inbox_does_not_move_the_draft(
    serve: Serve, gated: MakeEngine, open_page: OpenPage, width: int, keeps_list: bool
) -> None:
    engine = gated(ScriptedLLM.by_role(writer=GOOD, reviewer=PASS, judge=judged(30)))
    waiting = engine.ask(QUESTION)
    page = open_page(serve(engine), f"#/inbox/{waiting.approval_id}", width=width)
    question, cite = page.locator("#inbox-question"), page.locator("button.answer-cite").first
    before, mark = question.bounding_box(), cite.bounding_box()
    cite.click()
    expect(page.locator(".source-quote")).to_be_visible()
    page.wait_for_timeout(300)
    after, later = question.bounding_box(), cite.bounding_box()
    assert before and after and mark and later
    assert abs(after["x"] - before["x"]) < 2 and abs(later["y"] - mark["y"]) < 40
    assert is_uncovered(page, "button.answer-cite") and is_uncovered(page, ".source h2")
    if keeps_list:
        assert is_uncovered(page, ".inbox-row-question")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
