"""HTML pages: main text, hidden elements, encodings."""

from pathlib import Path

import pytest

from tests.reading.reads import refusal, text_of
from veracity.reading.extract import extract

SENTENCES = {
    "en": "Goods may be returned within thirty days of purchase.",
    "zh": "退货须在购买之日起三十天内办理，请携带收据。",
    "ja": "返品は購入日から三十日以内に受け付けます。",
}


def article(sentence: str, paragraphs: int = 20) -> str:
    return "".join(f"<p>{number}. {sentence} <b>{sentence}</b></p>" for number in range(paragraphs))


@pytest.mark.parametrize("sentence", SENTENCES.values())
@pytest.mark.parametrize("frame", ["{}", "<main>{}</main>", "<article>{}</article>", "<div><div>{}</div></div>"])
def test_main_text_keeps_its_headings(sentence: str, frame: str) -> None:
    body = frame.format(f"<h1>Head 一</h1>{article(sentence)}<h2>Second 二</h2>{article(sentence)}")
    page = f"<!doctype html><html><head><title>The title</title></head><body>{body}</body></html>"
    reading = extract(page.encode(), "page.html")
    lines = reading.text.split("\n")
    assert (reading.title, reading.format, reading.markdown) == ("The title", "html", True)
    assert {"# Head 一", "## Second 二"} <= set(lines)
    assert reading.text.count(sentence) == 80
    assert "**" not in reading.text


@pytest.mark.parametrize("sentence", SENTENCES.values())
@pytest.mark.parametrize(
    "page",
    ["{}", "<p>{}</p>", "<html><body>{}</body></html>", "<div><span>{}</span></div>", "<ul><li>{}</li></ul>"],
)
def test_a_page_of_one_sentence(sentence: str, page: str) -> None:
    assert sentence in text_of(page.format(sentence).encode(), "page.html")


@pytest.mark.parametrize("sentence", SENTENCES.values())
def test_nested_divs(sentence: str) -> None:
    soup = "".join(f"<div class=x{n}><div><span>{n}</span> <div>{sentence}</div></div></div>" for n in range(60))
    assert text_of(f"<html><body>{soup}</body></html>".encode(), "page.html").count(sentence) == 60


@pytest.mark.parametrize("sentence", SENTENCES.values())
def test_a_page_of_one_table(sentence: str) -> None:
    rows = "".join(f"<tr><td>{n}</td><td>{sentence}</td></tr>" for n in range(40))
    text = text_of(f"<table><tr><th>No</th><th>Rule</th></tr>{rows}</table>".encode(), "page.html")
    assert text.count(sentence) == 40
    assert f"| 39 | {sentence} |" in text


@pytest.mark.parametrize(
    ("encoding", "name", "language"),
    [
        ("cp932", "Shift_JIS", "ja"),
        ("cp932", "x-sjis", "ja"),
        ("euc_jp", "EUC-JP", "ja"),
        ("gb18030", "gb2312", "zh"),
        ("gb18030", "GBK", "zh"),
        ("utf-8", "utf-8", "zh"),
        ("utf-8", "iso-8859-1", "ja"),  # it says so, and is not
        ("cp932", "utf-8", "ja"),
        ("cp932", "nonsense", "ja"),
        ("gb18030", "hex", "zh"),
    ],
)
@pytest.mark.parametrize(
    "meta", ['<meta charset="{}">', '<meta http-equiv="Content-Type" content="text/html; charset={}">', ""]
)
def test_declared_wrongly_declared_and_undeclared_encodings(encoding: str, name: str, language: str, meta: str) -> None:
    sentence = SENTENCES[language]
    page = f"<html><head>{meta.format(name)}</head><body><p>{sentence}</p></body></html>"
    assert text_of(page.encode(encoding), "page.html") == sentence


def test_the_declared_encoding_is_used() -> None:
    page = '<html><head><meta charset="windows-1251"></head><body>Да</body></html>'
    assert text_of(page.encode("cp1251"), "page.html") == "Да"


@pytest.mark.parametrize(
    "hidden",
    [
        "<script>SECRET</script>",
        "<style>SECRET</style>",
        "<!-- SECRET -->",
        "<template>SECRET</template>",
        "<noscript>SECRET</noscript>",
        "<p hidden>SECRET</p>",
        '<p style="color:red; display : none">SECRET</p>',
        '<div style="visibility:hidden"><p>SECRET</p></div>',
        '<span aria-hidden="true">SECRET</span>',
        '<input type="hidden" value="SECRET">',
        "<svg><text>SECRET</text></svg>",
        "<?php SECRET ?>",
        "<![CDATA[SECRET]]>",
    ],
)
@pytest.mark.parametrize("paragraphs", [1, 30])
def test_hidden_elements_are_left_out(hidden: str, paragraphs: int) -> None:
    page = f"<html><body>{article(SENTENCES['en'], paragraphs)}{hidden} after it</body></html>"
    text = text_of(page.encode(), "page.html")
    assert "SECRET" not in text
    assert SENTENCES["en"] in text


def test_text_after_hidden_elements_stays() -> None:
    assert text_of(b"<p>before <script>x</script>between<!-- c --> after</p>", "a.html") == "before between after"


def test_navigation_is_left_out_unless_it_is_everything() -> None:
    page = "<nav>Home</nav><p>Thirty days.</p><footer>Imprint</footer>"
    assert text_of(page.encode(), "a.html") == "Thirty days."
    assert text_of(b"<nav>Home</nav>", "a.html") == "Home"


def test_structure_of_a_short_page() -> None:
    page = """<h1>Returns</h1><p>Within
        <i>thirty</i> days.<br>No longer.</p><ol><li>Bring it<li>Pay</ol><pre>a
  b</pre><img alt="A cup" src=x><table><tr><td>1<p>2</p></td><td>3</td></tr></table>"""
    assert text_of(page.encode(), "a.html") == (
        "# Returns\n\nWithin thirty days.\nNo longer.\n\n- Bring it\n- Pay\n\na\n  b\n\nA cup\n\n| 1 2 | 3 |"
    )


def test_the_title_falls_back_to_the_first_heading() -> None:
    assert extract(b"<h2>Returns</h2><p>Text</p>", "a.html").title == "Returns"
    assert extract(b"<title> \n</title><h2>Returns</h2>", "a.html").title == "Returns"


def test_xhtml() -> None:
    page = f"""<?xml version="1.0" encoding="UTF-8"?>
    <!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Strict//EN" "http://www.w3.org/TR/xhtml1/DTD/xhtml1-strict.dtd">
    <html xmlns="http://www.w3.org/1999/xhtml"><head><title>T</title></head><body><p>{SENTENCES["ja"]}</p></body></html>"""
    reading = extract(page.encode(), "page.xml")
    assert (reading.text, reading.title) == (SENTENCES["ja"], "T")


def test_external_entities_are_never_resolved(tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("SECRET")
    page = f'<!DOCTYPE html [<!ENTITY x SYSTEM "{secret.as_uri()}">]><html><body><p>before &x; after</p></body></html>'
    assert "SECRET" not in text_of(page.encode(), "a.html")


def test_many_hidden_elements() -> None:
    text = text_of(b"<p>a" + b"<!-- x --> b<script></script>" * 20_000 + b"</p>", "a.html")
    assert text.count("b") == 20_000


def test_deep_nesting() -> None:
    assert text_of(b"<div>" * 200 + b"bottom" + b"</div>" * 200, "a.html") == "bottom"
    assert text_of(b"top" + b"<div>" * 100_000 + b"bottom", "a.html").startswith("top")


@pytest.mark.parametrize("page", ["<html></html>", "<!doctype html>", "<script>x</script>", "<html><body><!-- x -->"])
def test_a_page_without_text(page: str) -> None:
    assert refusal(page.encode(), "a.html").status == "skipped"
