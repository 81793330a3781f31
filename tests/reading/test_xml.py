"""XML: feeds, records, settings and prose."""

from pathlib import Path

import pytest

from tests.reading.reads import assert_clean, refusal, text_of
from veracity.reading.extract import extract

RSS = """<?xml version="1.0" encoding="UTF-8"?>
<rss version="2.0" xmlns:content="http://purl.org/rss/1.0/modules/content/" xmlns:dc="http://purl.org/dc/elements/1.1/">
<channel><title>Lab news</title><link>https://lab.example/</link><description>All about the lab.</description>
<item><title>New pump</title><link>https://lab.example/pump</link><pubDate>Mon, 05 Jan 2026 09:00:00 GMT</pubDate>
<dc:creator>Ana</dc:creator><description>Short.</description>
<content:encoded><![CDATA[<p>Oil it <b>every</b> 500 hours.</p>
<ul><li>Use grade 3</li></ul><script>x()</script>]]></content:encoded></item>
<item><title>休馆通知</title><description>&lt;p&gt;周一闭馆。&lt;/p&gt;</description><category>通知</category></item>
</channel></rss>"""

ATOM = """<feed xmlns="http://www.w3.org/2005/Atom"><title>お知らせ</title><updated>2026-01-05T09:00:00Z</updated>
<entry><title type="html">返品 &amp;amp; 交換</title><link rel="alternate" href="https://a.example/1"/>
<published>2026-01-04</published><author><name>田中</name></author>
<content type="xhtml"><div xmlns="http://www.w3.org/1999/xhtml"><p>三十日以内です。</p><p>送料は無料。</p></div></content></entry></feed>"""


def test_rss() -> None:
    reading = extract(RSS.encode(), "news.xml")
    assert_clean(reading)
    assert (reading.title, reading.format, reading.markdown) == ("Lab news", "xml", True)
    assert reading.text == (
        "# Lab news\n\nlink: https://lab.example/\n\nAll about the lab.\n\n"
        "## New pump\n\npublished: Mon, 05 Jan 2026 09:00:00 GMT\nlink: https://lab.example/pump\nauthor: Ana\n\n"
        "Oil it every 500 hours.\n\n- Use grade 3\n\n"
        "## 休馆通知\n\ncategory: 通知\n\n周一闭馆。"
    )


@pytest.mark.parametrize("name", ["feed.atom", "feed.xml", "feed", "feed.txt"])
def test_atom(name: str) -> None:
    reading = extract(ATOM.encode(), name)
    assert (reading.title, reading.text) == (
        "お知らせ",
        "# お知らせ\n\nupdated: 2026-01-05T09:00:00Z\n\n## 返品 & 交換\n\npublished: 2026-01-04\n"
        "link: https://a.example/1\nauthor: 田中\n\n三十日以内です。\n\n送料は無料。",
    )


def test_rss_1() -> None:
    feed = """<?xml version="1.0"?><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"
    xmlns="http://purl.org/rss/1.0/"><channel><title>C</title></channel><item><title>I</title><description>D</description>
    </item></rdf:RDF>"""
    assert text_of(feed.encode(), "feed.rdf") == "# C\n\n## I\n\nD"


def test_a_sitemap_gives_a_paragraph_for_each_page() -> None:
    sitemap = """<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">
    <url><loc>https://a.example/</loc><lastmod>2026-01-01</lastmod></url><url><loc>https://a.example/b</loc></url></urlset>"""
    assert text_of(sitemap.encode(), "sitemap.xml") == (
        "loc: https://a.example/\nlastmod: 2026-01-01\n\nloc: https://a.example/b"
    )


def test_settings_name_their_place_and_attributes() -> None:
    config = """<config><!-- no text --><server host="db1" port="5432"/><cache enabled="true">memory</cache>
    <limits><time unit="s">30</time><size/></limits><add key="a" value="1"/><add key="b" value="2"/>
    <pool size="5"><idle>2</idle></pool></config>"""
    assert text_of(config.encode(), "config.xml") == (
        "server: host: db1; port: 5432\ncache: memory (enabled: true)\n\nlimits.time: 30 (unit: s)\n\n"
        "add: key: a; value: 1\nadd: key: b; value: 2\n\npool: size: 5\npool.idle: 2"
    )


def test_sections_of_a_book() -> None:
    book = """<?xml version="1.0"?>
    <!DOCTYPE book PUBLIC "-//OASIS//DTD DocBook XML V4.5//EN" "http://www.oasis-open.org/docbook/xml/4.5/docbookx.dtd">
    <book><title>Pumps</title><chapter id="c1"><title>Oil</title><para>Change the <emphasis>oil</emphasis>
      every 500 hours.</para><section><title>漏油</title><para>先关闭电源。</para>
      <itemizedlist><listitem><para>Stop</para></listitem><listitem>Wait</listitem></itemizedlist>
      <programlisting>pump stop
  --now</programlisting></section></chapter></book>"""
    reading = extract(book.encode(), "book.xml")
    assert reading.title == "Pumps"
    assert reading.text == (
        "# Pumps\n\n## Oil\n\nChange the oil every 500 hours.\n\n### 漏油\n\n先关闭电源。\n\n- Stop\n- Wait\n\n"
        "```\npump stop\n  --now\n```"
    )


@pytest.mark.parametrize(
    ("encoding", "declared", "word"),
    [("cp932", "Shift_JIS", "返品"), ("gb18030", "GB2312", "退货"), ("utf-16", "utf-16", "x")],
)
def test_declared_encodings(encoding: str, declared: str, word: str) -> None:
    document = f'<?xml version="1.0" encoding="{declared}"?><a><b>{word}</b></a>'
    assert text_of(document.encode(encoding), "a.xml") == f"b: {word}"


@pytest.mark.parametrize(
    "declaration",
    [
        '<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">',
        '<!ENTITY b SYSTEM "{secret}">',
        '<!ENTITY % b SYSTEM "{secret}"> %b;',
    ],
)
def test_entities_are_refused(declaration: str, tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("SECRET")
    document = f'<?xml version="1.0"?><!DOCTYPE x [{declaration.replace("{secret}", secret.as_uri())}]><x>&b;</x>'
    refused = refusal(document.encode(), "a.xml")
    assert refused.status == "failed"
    assert refused.reason.startswith("it declares XML entities, which are not expanded")


@pytest.mark.parametrize(
    "document", ["<?xml version='1.0'?><a><b></a>", "<?xml version='1.0'?><a>&nbsp;</a>", "<?xml?>", "<a", "<a/><b/>"]
)
def test_damaged_xml_has_a_position(document: str) -> None:
    refused = refusal(document.encode(), "a.xml")
    assert refused.status == "failed"
    assert "not valid XML at line 1, column " in refused.reason


@pytest.mark.parametrize(
    "document", ["<a/>", "<?xml version='1.0'?><a><b> </b><!-- c --></a>", "<rss><channel/></rss>"]
)
def test_xml_without_text(document: str) -> None:
    assert refusal(document.encode(), "a.xml").status == "skipped"


def test_deep_nesting_has_a_clear_reason() -> None:
    refused = refusal(b"<a>" * 100_000 + b"x" + b"</a>" * 100_000, "a.xml")
    assert refused.reason == "it nests its parts too deeply"
    assert text_of(b"<a>" * 90 + b"x" + b"</a>" * 90, "a.xml").endswith(": x")


def test_svg_and_xhtml_are_not_read_as_xml() -> None:
    assert (
        refusal(b"<?xml version='1.0'?><svg><text>a</text></svg>", "a.xml").reason
        == "its format is not supported (image)"
    )
    assert extract(b"<?xml version='1.0'?><html><body><p>a</p></body></html>", "a.xml").format == "html"


def test_prose_about_xml_is_text() -> None:
    assert extract(b"<note> is a tag.", "a.txt").format == "text"
