"""Markdown rendering in a real browser."""

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser

from tests.server.page.stage import Stage, staged_in

RENDERED = {
    "two\nlines": "<p>two<br>lines</p>",
    "one\n\ntwo": "<p>one</p><p>two</p>",
    "one\r\ntwo\r\n": "<p>one<br>two</p>",
    "# Title #\n### C#": "<h3>Title</h3><h5>C#</h5>",
    "#hashtag": "<p>#hashtag</p>",
    "a **b *c* d** e": "<p>a <strong>b <em>c</em> d</strong> e</p>",
    "***both***": "<p><em><strong>both</strong></em></p>",
    "***a** b*": "<p><em><strong>a</strong> b</em></p>",
    "2 * 3 * 4 and snake_case_name": "<p>2 * 3 * 4 and snake_case_name</p>",
    "**open *and* shut": "<p>**open <em>and</em> shut</p>",
    "*a **b* c**": "<p><em>a **b</em> c**</p>",
    "这是**「重点」**内容": "<p>这是<strong>「重点」</strong>内容</p>",
    "これは**重要。**次に": "<p>これは<strong>重要。</strong>次に</p>",
    "漢字_強調_漢字": "<p>漢字<em>強調</em>漢字</p>",
    r"\*not\* \`code\`": "<p>*not* `code`</p>",
    "`a*b*` and ``c`d``": '<p><code dir="ltr">a*b*</code> and <code dir="ltr">c`d</code></p>',
    "`never closed": "<p>`never closed</p>",
    "```py\nx = **1**\n\ny\n```\nend": '<pre tabindex="0"><code dir="ltr">x = **1**\n\ny</code></pre><p>end</p>',
    "~~~\nnot closed": '<pre tabindex="0"><code dir="ltr">not closed</code></pre>',
    "- a\n  - b\n    c\n- d": "<ul><li><p>a</p><ul><li><p>b<br>c</p></li></ul></li><li><p>d</p></li></ul>",
    "3. a\n4. b\n   - c": '<ol start="3"><li><p>a</p></li><li><p>b</p><ul><li><p>c</p></li></ul></li></ol>',
    "- a\n\n  more\n\nafter": "<ul><li><p>a</p><p>more</p></li></ul><p>after</p>",
    "in the year\n2024. Then": "<p>in the year<br>2024. Then</p>",
    "> a\n> - b\n\nc": "<blockquote><p>a</p><ul><li><p>b</p></li></ul></blockquote><p>c</p>",
    "a\n---\nb": "<p>a</p><hr><p>b</p>",
    "<b>x</b> &amp; <!-- y -->": "<p>&lt;b&gt;x&lt;/b&gt; &amp;amp; &lt;!-- y --&gt;</p>",
    "[text](https://a.example/b)": '<p>text<span class="md-address"> (https://a.example/b)</span></p>',
    '![alt](x.png "t")': '<p>alt<span class="md-address"> (x.png "t")</span></p>',
    "<https://a.example> www.b.example": "<p>&lt;https://a.example&gt; www.b.example</p>",
    "[ref]: https://a.example": "<p>[ref]: https://a.example</p>",
    "as it says [1][2, 3].": "<p>as it says [1][2, 3].</p>",
    "": "",
    " \n\t\n": "",
}
TABLE = (
    '<div class="md-scroll" tabindex="0"><table><thead><tr><th scope="col">a</th><th scope="col">b</th></tr></thead>'
    "<tbody><tr><td>1</td><td><strong>2</strong></td></tr><tr><td>3</td></tr></tbody></table></div>"
)


@pytest.fixture(scope="module")
def stage(chromium: Browser) -> Iterator[Stage]:
    with staged_in(chromium) as ready:
        yield ready


def markdown(stage: Stage, text: str, marks: list[dict[str, Any]] | None = None) -> str:
    shown: str = stage.page.evaluate("([text, marks]) => stage.markdown(text, marks)", [text, marks or []])
    return shown


@pytest.mark.parametrize("text", RENDERED)
def test_markdown_is_rendered(stage: Stage, text: str) -> None:
    assert markdown(stage, text) == RENDERED[text]


def test_a_table_may_follow_a_line_of_text(stage: Stage) -> None:
    assert markdown(stage, "See:\n| a | b |\n|---|:-:|\n| 1 | **2** |\n| 3 |\n\nEnd") == f"<p>See:</p>{TABLE}<p>End</p>"


def test_marks_span_emphasis_lists_and_quotes(stage: Stage) -> None:
    text = "> - a **b c** d\n> - e"
    mark = {"start": 8, "end": 17, "className": "m", "title": "t", "label": "L"}
    first = '<span class="m" title="t"><span class="visually-hidden">L</span>b c</span>'
    then = '<span class="m" title="t"> d</span>'
    assert text[8:17] == "b c** d\n>"
    assert f"a <strong>{first}</strong>{then}</p></li><li><p>e</p>" in markdown(stage, text, [mark])


def test_invisible_characters_are_replaced(stage: Stage) -> None:
    assert markdown(stage, "a\u202eb\u200bc\u2066d\U000e0041e\x00f") == "<p>a�b�c�d�e�f</p>"
    for kept in ("👩‍🔬 ❤️ 葛\U000e0100", "e\u0301", "soft\u00adhyphen"):
        assert markdown(stage, kept) == f"<p>{kept}</p>"


@pytest.mark.parametrize(
    "text", ["*a* _b_ **c", "- a\n  - b\n> c\n\n| d |\n|-|\n`e`", "「**強調**」[1]、`コード`\n1. 一\n2. 二"]
)
def test_a_cut_text_loses_no_letters(stage: Stage, text: str) -> None:
    shown = stage.page.evaluate(
        "(text) => [...text].map((_, at) => { stage.markdown(text.slice(0, at + 1)); return stage.root.textContent; })",
        text,
    )
    letters = [character for character in text if character.isalpha()]
    for at, said in enumerate(shown, 1):
        assert [char for char in said if char.isalpha()] == letters[: sum(char.isalpha() for char in text[:at])]


def test_offsets_are_counted_in_characters(stage: Stage) -> None:
    text = "🙂🙂 before 𠮷野家 the quote 👍 after"
    at = text.index("the quote")
    held = {"text": text, "start": 100}
    citation = {"start": 100 + at, "end": 100 + at + 9, "quote": "the quote"}
    marked = stage.page.evaluate("([held, citation]) => stage.locateQuote(held, citation)", [held, citation])
    assert marked["quote"] == [100 + at, 100 + at + 9]
    shown = stage.page.evaluate(
        """(held) => stage.markExcerpt(held)
            .map(({ start, end, className }) => [held.text.slice(start, end), className])""",
        held | marked | {"passage": [103, 100 + len(text)]},
    )
    kinds = ("source-passage", "source-quote", "source-passage")
    assert shown == [[text[3:at], kinds[0]], ["the quote", kinds[1]], [text[at + 9 :], kinds[2]]]
