import pytest

from veracity.reading import extract


@pytest.mark.parametrize(
    ("text", "title", "left"),
    [
        ("---\ntitle: Returns\ntags: [a]\n---\n# Other\n\nText", "Returns", "# Other\n\nText"),
        ('---\ntitle: "退货: 说明"\n---\n正文', "退货: 说明", "正文"),
        ("---\r\ntitle: '返品'\r\n---\r\n本文", "返品", "本文"),
        ('+++\ntitle = "Returns"\n+++\nText', "Returns", "Text"),
        ("---\ndate: 2026-01-01\n---\n# Heading\nText", "Heading", "# Heading\nText"),
        ("Intro\n\n## 第一章 ##\n\n正文", "第一章", "Intro\n\n## 第一章 ##\n\n正文"),
        ("```sh\n# comment\n```\n\n# Real", "Real", "```sh\n# comment\n```\n\n# Real"),
        ("Returns\n=======\n\nText", "Returns", "Returns\n=======\n\nText"),
        ("---\n\nA rule, then text.\n\n---\n\nMore", "", "---\n\nA rule, then text.\n\n---\n\nMore"),
        ("#hashtag only", "", "#hashtag only"),
        ("```\n# never closed", "", "```\n# never closed"),
    ],
)
def test_markdown(text: str, title: str, left: str) -> None:
    reading = extract(text.encode(), "page.md")
    assert (reading.title, reading.text, reading.format, reading.markdown) == (title, left, "markdown", True)


def test_plain_text_keeps_its_lines_and_has_no_title() -> None:
    reading = extract(b"# not a heading here\r\n  indented  \r\n\r\nend\r\n", "note.txt")
    assert reading.text == "# not a heading here\n  indented\n\nend"
    assert (reading.title, reading.markdown, reading.pages) == ("", False, ())
