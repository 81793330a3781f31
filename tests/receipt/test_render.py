"""The receipt as one HTML page (SPEC X3)."""

import re

import pytest

from tests.receipt.page import Page
from tests.receipt.receipts import (
    CARRY_OVER,
    LEAVE,
    QUESTION,
    STANDALONE,
    answer,
    approval,
    bare,
    citation,
    decision,
    evidence,
    full,
    sentence,
    steps,
)
from tests.receipt.test_safety import STYLE
from veracity.locales import section_texts
from veracity.models import Receipt
from veracity.receipt.render import render_receipt
from veracity.receipt.timeline import format_duration
from veracity.server.static_files import STATIC


def read(receipt: Receipt) -> Page:
    return Page(render_receipt(receipt))


@pytest.fixture(scope="module")
def page() -> Page:
    return read(full())


def test_x3_page_shows_everything_known_about_the_run(page: Page) -> None:
    expected = {
        "answer": ["Staff in Osaka have 20 days of leave.", "The answer was revised", "edited by a person"],
        "route": ["The documents", "It asks about something the documents may hold."],
        "searches": [STANDALONE, "annual leave Osaka days", "weak (31)", "Sharper words.", "below 0.6", "shared names"],
        "evidence": ["[1]", "Annual leave · page 3", "/handbook/osaka/leave.md", "strong (83)", LEAVE],
        "drafts": [
            "Draft 1",
            "Draft 2",
            "Confidencestrong (90)",
            "Say 20, as [1] does.",
            "The number is not in [1].",
            "local checks",
        ],
        "scores": [
            "fair (71)",
            "Threshold75",
            "Coverage",
            "leaves out the carry-over",
            "0.50",
            "openai-chat:judge",
            "55, 65",
            "Groundednessweak (49)Hardly supported.Grounding floor50",
        ],
        "decisions": ["Rejected", "mika", "Too thin.", "2026-11-15 21:29:50 UTC", "Approved", "Could not be scored"],
        "web": ["annual leave Osaka", "searxng", "https://example.com/slow", "It did not answer in time."],
        "spending": [
            "openai-chat:writer",
            "RoleModel callsInput tokensFrom cacheOutput tokensCost",
            "Writer34,3211,024678$0.0123",
            "referee34,3211,024678unknown",
            "Total912,3451,024678$0.0123",
        ],
        "prompts": [
            "1. Writer",
            "Modelopenai-chat:writerStarted2026-11-13 09:30:05 UTCDuration1.5 s",
            "From cache1,024",
            "InstructionsWrite briefly.Message to the modelThe evidence:Cut: 98,765 more characters.",
            "ReplyStaff have 20 days.",
            "Its citation is missing.",
            "2. Judge",
        ],
        "timeline": ["Search · shared names", "900 ms", "Waited for approval: 2 d 11 h"],
    }
    for part, texts in expected.items():
        for text in texts:
            assert text in page.section(part), (part, text)
    assert page.all("h1")[0].text == QUESTION
    assert f"Understood as: {STANDALONE}" in page.all("header")[0].text
    assert "Only documents that matchhandbook/osaka/, *.pdf" in page.all("header")[0].text
    assert "Answered" in page.all("header")[0].text
    assert "The judge cannot be reached." in page.section("scores")


def test_contents_list_the_sections_in_order(page: Page) -> None:
    parts = [(element.attributes["aria-labelledby"] or "").removesuffix("-title") for element in page.all("section")]
    before, after = ["answer", "route", "searches", "evidence", "drafts"], ["scores", "decisions", "web"]
    assert parts == [*before, *after, "spending", "prompts", "timeline"]
    assert [element.attributes["href"] for element in page.all("a")][: len(parts)] == [f"#{part}" for part in parts]


def test_citations_link_to_the_evidence_of_their_attempt(page: Page) -> None:
    ids = {element.attributes["id"] for element in page.all("article") if "id" in element.attributes}
    assert ids == {"evidence-1-1", "evidence-2-1"}
    links = [element.attributes["href"] for element in page.all("a") if element.text == "1"]
    assert set(links) == {"#evidence-1-1", "#evidence-2-1"}
    assert (
        next(element.text for element in page.all("span") if element.attributes.get("title") == "no such evidence")
        == "7"
    )


def test_unsupported_sentences_are_marked_and_read_out(page: Page) -> None:
    (marked,) = page.all("span", "unsupported")
    assert marked.text == "They also get a car. [1, 7] (not supported by its citation)"
    assert "Wavy underline" in page.section("answer")


def test_quotes_are_marked_in_the_evidence(page: Page) -> None:
    (first, _second) = [element.text for element in page.all("mark")][:2]
    assert first == "Full-time staff in Osaka have 20 days of paid annual leave a year."
    assert CARRY_OVER in [element.text for element in page.all("mark")]  # found although its stored offset is wrong


def test_overlapping_quotes_are_joined_and_missing_ones_skipped() -> None:
    cited = [
        citation("20 days of paid annual leave"),
        citation("annual leave a year."),
        citation("not in the text"),
        citation("", start=-5),
    ]
    shown = read(full(approvals=[], answer=answer(sentences=[sentence("Staff in Osaka have 20 days.", *cited)])))
    assert [element.text for element in shown.all("mark")] == ["20 days of paid annual leave a year."]


def test_uncited_evidence_is_folded() -> None:
    shown = read(bare("answered", answer=answer(evidence=[evidence(), evidence(id="e2", text="Another passage.")])))
    inner = [element.text for element in shown.all("details") if "class" not in element.attributes]
    assert inner == ["Not cited: show the textAnother passage."]


def test_all_but_the_answer_is_folded(page: Page) -> None:
    parts = len(page.all("section"))
    assert len(page.all("details", "part")) == parts - 1
    assert not any("open" in element.attributes for element in page.all("details", "part"))


TABLE = "| Vehicle | Rate |\n| --- | --- |\n| Car | 0.41 |"
MARKDOWN = f"## Rates\n\nA trip costs **165 euro** [1].\n\n{TABLE}\n\n1. Book\n2. <b>Go</b>"


def test_markdown_of_answers_and_drafts_is_rendered() -> None:
    unsupported = [sentence("A trip costs **165 euro** [1].", supported=False), sentence("2. <b>Go</b>")]
    shown = read(
        full(answer=answer(text=MARKDOWN, sentences=unsupported), drafts=[{"epoch": 0, "text": MARKDOWN}], approvals=[])
    )
    answered, drafted = shown.section("answer"), shown.section("drafts")
    for text in (answered, drafted):
        assert "165 euro" in text and "<b>Go</b>" in text
        assert not any(sign in text for sign in ("**", "##", "| ---"))
    assert [element.text for element in shown.all("th")][:2] == ["Vehicle", "Rate"]
    assert "165 euro" in [element.text for element in shown.all("strong")]
    marked = "".join(element.text for element in shown.all("span", "unsupported"))
    assert marked == "A trip costs 165 euro [1]. (not supported by its citation)"


def test_emphasis_touches_chinese_and_japanese() -> None:
    shown = read(full(answer=answer(text="**年假：**员工有 20 天。**「休暇」**は", sentences=[])))
    assert [element.text for element in shown.all("strong")][:2] == ["年假：", "「休暇」"]


def test_differences_are_those_of_the_rendered_text() -> None:
    before, after = "It costs **185 euro**.\n\n| a | b |\n| --- | --- |", "It costs 165 euro.\n\n| a | b |\n| - | - |"
    shown = read(full(drafts=[{"epoch": 0, "text": before}, {"epoch": 1, "text": after}], approvals=[]))
    assert [element.text for element in shown.all("del")] == ["185"]
    assert [element.text for element in shown.all("ins")] == ["165"]


def test_labels_and_notices_are_in_the_language_of_the_reader() -> None:
    notice = {"code": "revised", "text": "It was revised.", "translations": {"ja": "改訂されました。"}}
    given = full(answer=answer(notices=[notice, {"code": "uncertain", "text": "An old one."}]))
    shown = Page(render_receipt(given, language="ja"))
    assert shown.all("html")[0].attributes["lang"] == "ja"
    assert shown.all("h1")[0].attributes["lang"] == "en"
    assert "改訂されました。" in shown.section("answer") and "It was revised." not in shown.text
    assert "An old one." in shown.section("answer")
    assert "根拠" in shown.text and "低（31）" in shown.section("searches")
    assert section_texts("ja", "receipt")["issue.relevance"] in shown.section("searches")
    assert Page(render_receipt(given, language="tlh")).all("html")[0].attributes["lang"] == "en"


@pytest.mark.parametrize(
    ("zone", "shown"),
    [
        ("Asia/Tokyo", "2026-11-13 18:30:00 JST"),
        ("", "2026-11-13 09:30:00 UTC"),
        ("../../etc/passwd", "2026-11-13 09:30:00 UTC"),
        ("Mars/Olympus", "2026-11-13 09:30:00 UTC"),
    ],
)
def test_times_are_in_the_zone_of_the_reader(zone: str, shown: str) -> None:
    moment = Page(render_receipt(full(), zone=zone)).all("time")[0]
    assert (moment.text, moment.attributes["datetime"]) == (shown, "2026-11-13T09:30:00+00:00")


def test_only_a_served_page_links_to_the_answer(page: Page) -> None:
    served = Page(render_receipt(full(), home="/#/runs/r1"))
    assert [link.text for link in served.all("a") if link.attributes["href"] == "/#/runs/r1"] == [
        "← Back to the answer"
    ]
    assert "Back to the answer" not in page.text


def test_what_went_out_comes_before_the_draft_and_the_changes(page: Page) -> None:
    decided = page.section("decisions")
    assert decided.index("Edited by a person") < decided.index("Changes") < decided.rindex("The draft")


def test_meters_have_the_colour_of_their_word() -> None:
    shown = read(full())
    classes = {element.attributes["class"] for element in shown.all("rect")}
    assert {"fill fair", "fill bad"} <= classes


def test_colours_are_those_of_the_page() -> None:
    page_style = (STATIC / "lib" / "base.css").read_text(encoding="utf-8")
    names = {"paper": "bg", "raised": "surface", "ink": "text", "quiet": "muted", "rule": "line", "track": "sunken"}
    names |= {"fair": "warn", "fair-soft": "warn-soft", "marked": "mark"}
    names |= {name: name for name in ("accent", "good", "good-soft", "bad", "bad-soft")}
    pairs = dict(re.findall(r"--([\w-]+): light-dark\((#\w+, #\w+)\)", page_style))
    light, dark = (
        dict(re.findall(r"--([\w-]+): (#\w+)", block))
        for block in re.findall(r":root \{(.*?)\n *\}", STYLE, re.DOTALL)[:2]
    )
    assert {name: f"{light[name]}, {dark[name]}" for name in names} == {name: pairs[at] for name, at in names.items()}


def test_drafts_show_their_differences(page: Page) -> None:
    assert ("40", "20") in zip(
        [element.text for element in page.all("del")], [element.text for element in page.all("ins")], strict=False
    )
    other_attempt = "By law it is 10 days."
    assert not any(other_attempt in element.text for element in page.all("ins"))


def test_edit_is_shown_as_a_difference(page: Page) -> None:
    assert any("Five days may be carried over" in element.text for element in page.all("ins"))
    assert any("They also get a car" in element.text for element in page.all("del"))


def test_remote_addresses_are_shown_and_never_linked(page: Page) -> None:
    assert "https://example.org/leave?a=1&b=2" in page.section("evidence")
    assert all((element.attributes["href"] or "").startswith("#") for element in page.all("a"))
    assert not any({"src", "srcset", "action", "style"} & set(element.attributes) for element in page.elements)


@pytest.mark.parametrize("status", ["running", "failed", "abstained", "rejected", "answered", "awaiting_approval"])
def test_run_without_content(status: str) -> None:
    shown = read(bare(status))
    is_over = status not in ("running", "awaiting_approval")
    assert ("No answer." if is_over else "No answer yet.") in shown.section("answer")
    assert "Not decided yet" in shown.section("route")
    assert not shown.section("drafts")


def test_failed_run_shows_its_problem() -> None:
    shown = read(bare("failed", run={"problem": "The model cannot be reached."}, steps=steps()[:2]))
    assert "The model cannot be reached." in shown.all("header")[0].text
    assert "Read the question" in shown.section("timeline")


def test_pending_draft_is_shown() -> None:
    waits = answer(status="awaiting_approval", text="It waits.", sentences=[], evidence=[], quality=None, notices=[])
    shown = read(bare("awaiting_approval", answer=waits, approvals=[approval(1, 7.5)], steps=steps()[:10]))
    assert "Awaiting approval" in shown.all("header")[0].text
    assert "It waits." in shown.section("answer")
    assert "They also get a car." in shown.section("answer")
    assert "search the web" in shown.section("decisions")
    assert "evidence-1-1" in [element.attributes.get("id") for element in shown.all("article")]


def test_abstention_shows_missing_information() -> None:
    abstains = answer(status="abstained", text="The documents do not say.", sentences=[], missing=["gym, membership"])
    shown = read(bare("abstained", answer=abstains))
    assert "gym, membership" in shown.section("answer")
    assert "written by a model" not in shown.section("answer")


def test_usage_without_roles_is_one_line() -> None:
    """A run of an older version, or without a model."""
    shown = read(bare("answered", usage={"calls": 2, "input_tokens": 300, "output_tokens": 40, "cost_usd": 0.01}))
    assert "Model callsInput tokensFrom cacheOutput tokensCost2300040$0.0100" in shown.section("spending")
    assert "Total" not in shown.section("spending") and shown.section("prompts") == ""


def test_decision_without_approval_is_shown() -> None:
    shown = read(bare("answered", answer=answer(decisions=[decision("approve", 5, edit="It is 20.")])))
    assert "mika" in shown.section("decisions")
    assert "It is 20." in shown.section("decisions")


def test_x3_forgotten_texts_are_replaced_by_a_note() -> None:
    gone = evidence(text="", title="", location="", headings=[])
    emptied = answer(text="", sentences=[], evidence=[gone])
    silent = [{**step, "texts": None} for step in steps()]
    drafts = [{"epoch": 0, "text": ""}, {"epoch": 1, "text": ""}]
    waits = [approval(1, 7.5, draft=emptied)]
    shown = read(full(answer=emptied, steps=silent, drafts=drafts, approvals=waits, standalone=""))
    for part in ("answer", "evidence", "drafts", "decisions", "prompts"):
        assert "(removed: its source was forgotten)" in shown.section(part), part
    nameless = bare("answered", run={"question": ""}, answer=emptied)
    assert "(removed" in read(nameless).all("h1")[0].text


@pytest.mark.parametrize(
    ("language", "tag", "labels"),
    [
        ("zh", "zh-Hans", ["回答", "证据", "草稿与复核", "评分", "时间线", "修改建议", "其中缓存", "提示与回复"]),
        (
            "ja",
            "ja",
            [
                "回答",
                "根拠",
                "下書きとレビュー",
                "評点",
                "タイムライン",
                "修正の提案",
                "うちキャッシュ",
                "プロンプトと応答",
            ],
        ),
    ],
)
def test_x5_labels_are_in_the_language_of_the_question(language: str, tag: str, labels: list[str]) -> None:
    shown = read(full(answer=answer(language=language)))
    assert shown.all("html")[0].attributes["lang"] == tag
    for label in labels:
        assert label in shown.text
    assert all(element.attributes.get("lang") == "en" for element in shown.all("div", "prose") if element.text == LEAVE)


@pytest.mark.parametrize(
    ("question", "tag"), [("有多少天？", "zh-Hans"), ("何日ありますか。", "ja"), ("¿Cuántos?", "en")]
)
def test_x5_without_an_answer_the_question_decides_the_language(question: str, tag: str) -> None:
    assert read(bare("running", run={"question": question})).all("html")[0].attributes["lang"] == tag


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.0004, "0 ms"),
        (0.9, "900 ms"),
        (59.94, "59.9 s"),
        (61, "1 min 1 s"),
        (3660, "1 h 1 min"),
        (180000, "2 d 2 h"),
        (float("nan"), "–"),
    ],
)
def test_durations(seconds: float, text: str) -> None:
    assert format_duration(seconds) == text
