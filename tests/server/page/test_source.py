"""Answers in a real browser: citations, the source panel, copying and feedback."""

from typing import Any

import pytest
from playwright.sync_api import Page, Route, expect

from tests.reading.documents import pdf
from tests.server.conftest import MODULES, MakeEngine, OpenPage, Serve, Served, Watched
from veracity.models import Document

LINES = "\n\n".join(f"🙂 Paragraph {number} of the 𠮷 register: nothing of note happened." for number in range(120))
QUOTE = "The 🦉 orchard in Tromsø holds 412 trees 👍."
TEXT = f"{LINES}\n\nIt is known well. {QUOTE} They bloom in May.\n\n{LINES}"
DOCUMENT = Document(id="register", title="The <b>register</b>", text=TEXT)
AT = TEXT.index(QUOTE)
PASSAGE = TEXT[AT - 18 : AT + len(QUOTE) + 18]

LENGTH = "document.querySelector('.source-text').textContent.length"
MOUNT = """async ([answer, shown, modules]) => {
    const { html, render, useState } = await import(`${modules}/lib/preact.js`);
    const { Answer } = await import(`${modules}/answer/answer.js`);
    const { AnswerSource } = await import(`${modules}/answer/source.js`);
    const { Feedback } = await import(`${modules}/answer/feedback.js`);
    function Whole() {
        const [cited, setCited] = useState(null);
        return html`<div>
            ${shown.includes("answer") && html`<${Answer} answer=${answer} onCite=${setCited} />`}
            ${cited && html`<${AnswerSource} open=${{ citation: cited, answer }}
                onCite=${setCited} onClose=${() => setCited(null)} />`}
            ${shown.includes("feedback") && html`<${Feedback} runId=${answer.run_id} given=${null} />`}
        </div>`;
    }
    document.body.replaceChildren();
    render(html`<${Whole} />`, document.body);
}"""


def evidence(number: int, **known: Any) -> dict[str, Any]:
    passage = {"text": PASSAGE, "start": AT - 18, "end": AT - 18 + len(PASSAGE), "document_id": "register"}
    about = {"title": "The <b>register</b>", "location": "https://evil.example/x", "headings": ["Trees"], "page": 3}
    metadata = {"relevance_score": 0.8, "found_by": ["knowledge"]}
    return {
        "id": f"e{number}",
        "source": "knowledge",
        "language": "en",
        **passage,
        **about,
        "metadata": metadata,
    } | known


def citation(number: int, **known: Any) -> dict[str, Any]:
    place = {"quote": QUOTE, "start": AT, "end": AT + len(QUOTE), "document_id": "register"}
    return {"number": number, "evidence_id": f"e{number}", **place} | known


def sentence(text: str, *citations: dict[str, Any], supported: bool = True) -> dict[str, Any]:
    known = {"states": True, "supported": supported, "support": float(supported), "unresolved": []}
    return {"text": text, "citations": list(citations), **known}


def answer(*sentences: dict[str, Any], evidence: list[dict[str, Any]], **known: Any) -> dict[str, Any]:
    text = " ".join(one["text"] for one in sentences)
    base = {"run_id": "r", "status": "answered", "question": "?", "text": text, "form": "written", "language": "en"}
    return {**base, "sentences": list(sentences), "evidence": evidence, "missing": [], "notices": [], **known}


@pytest.fixture
def served(engine_with: MakeEngine, serve: Serve) -> Served:
    engine = engine_with()
    engine.add(DOCUMENT)
    return serve(engine)


def show(page: Page, value: dict[str, Any], *parts: str) -> None:
    page.evaluate(MOUNT, [value, list(parts or ("answer",)), MODULES])


def is_in_the_middle(page: Page) -> bool:
    middle = """() => {
        const box = document.querySelector(".source-body").getBoundingClientRect();
        const quote = document.querySelector(".source-quote").getBoundingClientRect();
        return Math.abs((quote.top + quote.bottom) / 2 - (box.top + box.bottom) / 2) < 40;
    }"""
    return bool(page.evaluate(middle))


def test_a_citation_opens_the_document_at_its_quote(served: Served, open_page: OpenPage) -> None:
    page = open_page(served)
    show(page, answer(sentence("There are **412** trees. [1]", citation(1)), evidence=[evidence(1)]))
    cite = page.get_by_role("button", name="Source 1: The <b>register</b>")
    cite.click()
    expect(page.locator(".source-quote")).to_have_text(QUOTE)
    assert is_in_the_middle(page)
    expect(page.locator(".source-head")).to_contain_text("Trees · page 3")
    expect(page.locator(".source-head p")).to_have_count(2)
    expect(page.locator(".source-location")).to_have_text("https://evil.example/x")
    assert page.locator(".source a, .answer a").count() == 0
    page.keyboard.press("Escape")
    expect(page.locator(".source")).to_have_count(0)
    expect(cite).to_be_focused()


def test_server_paths_are_shortened(served: Served, open_page: OpenPage) -> None:
    page = open_page(served)
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    paths = [
        "/srv/secret/team/規程/年假.md",
        r"C:\Users\bob\docs\leave.md",
        "file:///srv/secret/a/b.md",
        "notes/leave.md",
    ]
    ends = ["…/規程/年假.md", "…/docs/leave.md", "…/a/b.md", "notes/leave.md"]
    held = [evidence(number, location=path, title="") for number, path in enumerate(paths, 1)]
    cited = [sentence(f"There are 412. [{number}]", citation(number)) for number in range(1, 5)]
    show(page, answer(*cited, evidence=held))
    expect(page.locator(".answer-source-title")).to_have_text(ends)
    page.get_by_role("button", name="Copy").click()
    expect(page.get_by_role("status")).to_have_text("Copied.")
    page.locator("button.answer-cite").first.click()
    for number, end in enumerate(ends, 1):
        expect(page.locator(".source-location")).to_have_text(end)
        expect(page.locator(".source h2")).to_contain_text(f"{number} {end}")
        page.get_by_role("button", name="Next").click()
    whole = page.content() + page.evaluate("navigator.clipboard.readText()")
    assert "secret" not in whole and "Users" not in whole


def test_loading_more_text_keeps_the_scroll_position(served: Served, open_page: OpenPage) -> None:
    page = open_page(served)
    show(page, answer(sentence("There are 412 trees. [1]", citation(1)), evidence=[evidence(1)]))
    page.get_by_role("button", name="Source 1").first.click()
    quote = page.locator(".source-quote")
    expect(quote).to_be_visible()
    for name, begins in (("Earlier text", False), ("Later text", False), ("Earlier text", True)):
        before, length = quote.bounding_box(), page.evaluate(LENGTH)
        page.get_by_role("button", name=name).dispatch_event("click")
        page.wait_for_function(f"(length) => {LENGTH} > length", arg=length)
        after = quote.bounding_box()
        assert before
        assert after
        assert abs(before["y"] - after["y"]) < 40, name
        assert page.get_by_text("The document begins here").count() == begins
    assert TEXT.startswith(page.inner_text(".source-text")[:2000])


def test_late_text_is_dropped(served: Served, open_page: OpenPage) -> None:
    page = open_page(served)
    far = citation(1, quote=TEXT[:40], start=0, end=40)
    show(page, answer(sentence("There are 412. [1]", citation(1)), sentence("So. [1]", far), evidence=[evidence(1)]))
    page.get_by_role("button", name="Source 1").first.click()
    expect(page.locator(".source-quote")).to_have_text(QUOTE)
    late: list[Route] = []

    def hold_the_first(route: Route) -> None:
        if late:
            route.continue_()
        else:
            late.append(route)

    page.route("**/api/document/text?*", hold_the_first)
    page.get_by_role("button", name="Later text").dispatch_event("click")
    page.get_by_role("button", name="Next").click()
    expect(page.locator(".source-quote")).to_have_text(TEXT[:40])
    with page.expect_response("**/api/document/text?*"):
        late[0].continue_()
    page.wait_for_timeout(100)
    assert TEXT.startswith(page.inner_text(".source-text"))


def test_unavailable_documents_show_the_stored_passage(served: Served, open_page: OpenPage, watched: Watched) -> None:
    watched.allowed.append("404")
    page = open_page(served)
    gone = evidence(1, document_id="forgotten")
    web = evidence(2, document_id="https://evil.example/x", source="web")
    changed = evidence(3, text="Once it held 400 trees. Not any more.", start=0, end=37)
    value = answer(
        sentence("It holds 412. [1]", citation(1, document_id="forgotten")),
        sentence("It still does. [2]", citation(2, document_id="https://evil.example/x")),
        sentence("It held 400. [3]", citation(3, quote="Once it held 400 trees.", start=0, end=23)),
        evidence=[gone, web, changed],
    )
    show(page, value)
    page.get_by_role("button", name="Source 1").first.click()
    expect(page.locator(".source-note")).to_contain_text("The document cannot be shown.")
    expect(page.locator(".source-quote")).to_have_text(QUOTE)
    page.get_by_role("button", name="Next").click()
    expect(page.locator(".source-note")).to_contain_text("From a web page.")
    page.get_by_role("button", name="Next").click()
    expect(page.locator(".source-note")).to_contain_text("The document has changed since.")
    expect(page.locator(".source-quote")).to_have_text("Once it held 400 trees.")
    expect(page.locator(".source-steps")).to_contain_text("3 of 3")
    page.keyboard.press("Escape")
    expect(page.get_by_role("button", name="Source 1").first).to_be_focused()


def test_unsupported_sentences_are_marked(served: Served, open_page: OpenPage) -> None:
    page = open_page(served)
    doubtful = sentence("They are **very** tall. [1][7]", citation(1), supported=False)
    notices: list[dict[str, Any]] = [
        {"code": "extractive", "text": "引用です。", "translations": {"en": "Quoted.", "zh": "引用。"}},
        {"code": "unsupported", "text": "One sentence is not supported."},
    ]
    held: dict[str, Any] = {"evidence": [evidence(1)], "notices": notices[:1]}
    show(page, answer(doubtful, sentence("They are old.", supported=False), **held))
    expect(page.locator(".answer-notices")).to_have_text("Quoted.")  # in the language of the page
    titles = page.locator(".answer-unsupported[title]").evaluate_all("all => all.map((one) => one.title)")
    assert (titles[0], titles[-1]) == ("Not supported by its citation", "No citation")
    expect(page.get_by_text("2 sentences are not supported by a source.")).to_be_visible()
    show(page, answer(sentence("There are 412. [1]", citation(1)), doubtful, evidence=[evidence(1)], notices=notices))
    expect(page.get_by_text("supported by a source")).to_have_count(0)  # the notice says the same
    marked = page.locator(".answer-text .answer-unsupported")
    told = "".join(marked.all_text_contents())
    assert told == "[Not supported by its citation:] They are very tall.\u00a0"
    assert marked.first.get_attribute("title") == "Not supported by its citation"
    expect(page.locator(".answer-unresolved")).to_have_text("7")
    expect(page.locator(".answer-stressed")).to_have_text("One sentence is not supported.")


def test_copied_text_lists_its_sources(served: Served, open_page: OpenPage) -> None:
    page = open_page(served)
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    value = answer(sentence("There are **412**. [2]", citation(2)), evidence=[evidence(1), evidence(2, title="果園")])
    show(page, value)
    page.get_by_role("button", name="Copy").click()
    expect(page.get_by_role("status")).to_have_text("Copied.")
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied == "There are 412. [2]\n\n[2] 果園 · Trees · page 3 · https://evil.example/x"


@pytest.mark.parametrize("locale", ["zh-CN", "ja-JP"])
def test_an_abstention_lists_what_is_missing(served: Served, open_page: OpenPage, locale: str) -> None:
    page = open_page(served, locale=locale, width=360)
    show(page, answer(evidence=[], text="…", status="abstained", missing=["the number of trees"]))
    expect(page.locator(".answer-missing li")).to_have_text("the number of trees")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_feedback_is_saved_at_once_and_can_be_changed(served: Served, open_page: OpenPage) -> None:
    run = served.engine.ask("How many trees does the orchard in Tromsø hold?")
    page = open_page(served)
    show(page, {"run_id": run.run_id}, "feedback")
    page.get_by_role("button", name="Not helpful").click()
    expect(page.get_by_role("status")).to_have_text("You found this not helpful.")
    reason = page.get_by_label("Why? (optional)")
    reason.fill("古い情報です")
    reason.dispatch_event("keydown", {"key": "Enter", "keyCode": 229})
    assert [one.why for one in served.engine.feedback(run.run_id)] == [""]
    reason.press("Enter")
    expect(page.locator(".feedback-why")).to_have_text("古い情報です")
    expect(page.locator(".feedback-why")).to_have_attribute("lang", "ja")
    thumb = page.get_by_role("button", name="Not helpful")
    for leave in ("Escape", "Enter"):
        expect(thumb).to_be_focused()
        page.get_by_role("button", name="Change").press("Enter")
        expect(reason).to_be_focused()
        reason.press(leave)
    expect(thumb).to_be_focused()
    page.get_by_role("button", name="Helpful", exact=True).click()
    expect(page.get_by_role("status")).to_have_text("You found this helpful.")
    assert [(one.thumb, one.why) for one in served.engine.feedback(run.run_id)] == [("up", "古い情報です")]


def test_a_feedback_error_is_shown_in_place(served: Served, open_page: OpenPage, watched: Watched) -> None:
    watched.allowed.append("404")
    page = open_page(served)
    show(page, {"run_id": "nothing"}, "feedback")
    page.get_by_role("button", name="Helpful", exact=True).click()
    expect(page.get_by_role("alert")).to_contain_text("nothing")


PAGES = (
    "The fire drill is held twice a year. Everybody leaves by the nearest stairs.",
    "The fire warden of the second floor is Maeve Kelly.",
)


def test_a_citation_shows_the_pdf_page_of_its_quote(serve: Serve, engine_with: MakeEngine, open_page: OpenPage) -> None:
    served = serve(engine_with())
    client = served.client()
    report = client.post("/api/documents", files={"files": ("drill.pdf", pdf(*PAGES))}).json()
    document_id = report["outcomes"][0]["document_id"]
    text = client.get("/api/document/text", params={"id": document_id}).json()
    assert len(text["page_starts"]) == 2
    assert text["text"][text["page_starts"][1] :].startswith("The fire warden")
    answer = client.post("/api/ask", json={"question": "Who is the fire warden of the second floor?"}).json()
    assert "Maeve Kelly" in answer["text"]
    page = open_page(served, f"#/runs/{answer['run_id']}")
    page.locator(".answer").get_by_role("button", name="Source").first.click()
    expect(page.locator(".source")).to_contain_text("page 2")
    expect(page.locator(".source-quote")).to_contain_text("Maeve Kelly")
