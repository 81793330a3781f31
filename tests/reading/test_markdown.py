"""Markdown: what only a site generator reads goes, the text and all code stay."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.reading.reads import text_of
from veracity.reading.extract import extract
from veracity.reading.markdown import without_markup


@pytest.mark.parametrize(
    ("text", "title", "left"),
    [
        ("---\ntitle: Returns\ntags: [a]\n---\n# Other\n\nText", "Returns", "# Other\n\nText"),
        ('---\ntitle: "退货: 说明"\n---\n正文', "退货: 说明", "正文"),
        ("---\r\ntitle: '返品'\r\n---\r\n本文", "返品", "本文"),
        ('+++\ntitle = "Returns"\n+++\nText', "Returns", "Text"),
        ("---\ntitle: >-\n  Returns\ndate: 2026-01-01\n---\nText", "Returns", "Text"),
        ("---\ntitle: Terms &amp; Conditions\n---\nText", "Terms & Conditions", "Text"),
        ("---\n---\n# Heading\n\nText", "Heading", "# Heading\n\nText"),
        ("---\ndate: 2026-01-01\n---\n# Heading\nText", "Heading", "# Heading\nText"),
        ("Intro\n\n## 第一章 ##\n\n正文", "第一章", "Intro\n\n## 第一章 ##\n\n正文"),
        ("```sh\n# comment\n```\n\n# Real", "Real", "```sh\n# comment\n```\n\n# Real"),
        ("Returns\n=======\n\nText", "Returns", "Returns\n=======\n\nText"),
        ("---\n\nA rule, then text.\n\n---\n\nMore", "", "---\n\nA rule, then text.\n\n---\n\nMore"),
        ("#hashtag only", "", "#hashtag only"),
        ("```\n# never closed", "", "```\n# never closed"),
        ("# クイックスタート {#quick-start}\n\n本文", "クイックスタート", "# クイックスタート\n\n本文"),
    ],
)
def test_front_matter_and_title(text: str, title: str, left: str) -> None:
    reading = extract(text.encode(), "page.md")
    assert (reading.title, reading.text, reading.format, reading.markdown) == (title, left, "markdown", True)


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("## Body { #the-body }", "## Body"),
        ("## 命令行 {#command-line} ##", "## 命令行"),
        ("Title {#a}\n=====", "Title\n====="),
        ("### `list` { .new #x key=1 }", "### `list`"),
        ("See [it](x.md){.internal-link target=_blank} and ![a](b){: .img }.", "See [it](x.md) and ![a](b)."),
        ("A figure\n{: .caption }\n\nText", "A figure\n\nText"),
        ("(custom-groups)=\n\n# Groups", "# Groups"),
        ("[[toc]]\n\n[TOC]\n\nText", "Text"),
        ('Text\n\n--8<-- "notes.md"\n\n<<< @/snippet.js', "Text"),
        ("The {func}`option` of {class}`~click.Group`.", "The `option` of `Group`."),
        ("See {ref}`positional arguments <arguments>` and {doc}`api`.", "See positional arguments and api."),
        ("Try {meth}`it\nnow <Context.invoke>`.", "Try it\nnow."),
        (":fontawesome-brands-github: 仓库", "仓库"),
    ],
)
def test_anchors_roles_and_attributes(text: str, left: str) -> None:
    assert text_of(text.encode(), "a.md") == left


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("before<!-- TODO: 直す -->after", "beforeafter"),
        ("A\n\n<!-- off\n\n```\nb\n```\n-->\n\nC", "A\n\nC"),
        ('{% include "warning.html" %}\n\nText {# note #} here', "Text here"),
        ("{% raw %}\nText\n{% endraw %}", "Text"),
        ('[form]({% page "/tools/forms" %}) and [b]: {% link c.md %}', "[form](/tools/forms) and [b]: c.md"),
        ('Ask in {% slack_channel "people-ops" %} first.', "Ask in people-ops first."),
        ('{% image "_img/a.png" "choosing a city" %}', "choosing a city"),
        ("{* ../../docs_src/a.py hl[1,15] *}\n\nText", "Text"),
        ("{/* textlint-disable */}\nText", "Text"),
        ("{{< note >}}\nText\n{{< /note >}}", "Text"),
        ("100% {%", "100% {%"),
        ("<!-- never closed", "<!-- never closed"),
        ("{% one\n\ntwo %}", "{% one\n\ntwo %}"),
    ],
)
def test_comments_and_template_tags(text: str, left: str) -> None:
    assert text_of(text.encode(), "a.md") == left


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("/// tip | Technical Details\n\nUse it.\n\n///\n\nNext", "**Technical Details**\n\nUse it.\n\nNext"),
        ("/// note\n\n注意\n\n///", "注意"),
        (":::tip 前提条件\n- Node.js\n  :::\n\n次", "**前提条件**\n\n- Node.js\n\n次"),
        ("::: warning\n小心\n:::", "小心"),
        (":::info[Good to know]\nText\n:::", "**Good to know**\n\nText"),
        (
            '!!! tip "提示"\n\n    第一段\n\n    - 项目\n\n        码\n\n正文',
            "**提示**\n\n第一段\n\n- 项目\n\n    码\n\n正文",
        ),
        ("??? note\n    Body\n\nAfter", "Body\n\nAfter"),
        ('=== "Linux"\n\n    ```sh\n    ls {% x %}\n    ```', "**Linux**\n\n```sh\nls {% x %}\n```"),
        ('!!! note "A"\n    one\n\n    !!! tip "B"\n        two\n\n    three', "**A**\n\none\n\n**B**\n\ntwo\n\nthree"),
        ("```{note}\n:class: tip\n\nUse {func}`echo`.\n```\n\nText", "Use `echo`.\n\nText"),
        ("````{admonition} Advanced\nA\n```py\nx = '<b>'\n```\n````", "**Advanced**\n\nA\n```py\nx = '<b>'\n```"),
        (":::{warning} Careful\nText\n:::", "**Careful**\n\nText"),
        ("```{versionadded} 8.2\nNew.\n```", "**8.2**\n\nNew."),
        ("```{toctree}\n:hidden:\na\n```\n\nText", "Text"),
        ("```{eval-rst}\n.. autoclass:: A\n    :members:\n```\n\nText", "Text"),
        ("```{eval-rst}\n.. click:example::\n\n    @click.command()\n```", "```\n@click.command()\n```"),
        ("```{code-block} python\n:caption: a.py\n\nx = {% y %}\n```", "```python\n\nx = {% y %}\n```"),
    ],
)
def test_containers_keep_their_text(text: str, left: str) -> None:
    assert text_of(text.encode(), "a.md") == left


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ('変数の<dfn title="例: str">型</dfn>を宣言', "変数の型を宣言"),
        ("the <abbr title='say \"so\"'>API</abbr> of <a href=x>it</a>", "the API of it"),
        ("one<br />two<br>\nthree", "one two\nthree"),
        ('<img src="a.png" alt="A cup">', "A cup"),
        ("10<sup>3</sup> and H<sub>2</sub>O", "10^3 and H2O"),
        ('<div class="termy">\n\n```console\n$ <u>ls</u>\n```\n\n</div>', "```console\n$ <u>ls</u>\n```"),
        ("<h2>Title</h2>\n<ul>\n<li>One `a<b>`</li>\n<li>Two</li></ul>", "## Title\n\n- One `a<b>`\n- Two"),
        ("<script setup>\nimport A from './A.vue'\n\nlet b\n</script>\n\n# T", "# T"),
        ("<style>\n.a { color: red }\n\n.b {}\n</style>\nText", "Text"),
        ("Terms &amp; conditions&nbsp;apply", "Terms & conditions apply"),
        ("<https://a.example/> and <me@a.example>", "<https://a.example/> and <me@a.example>"),
        ("a <b and c> d < e, List<String>, <your-name>", "a  d < e, List<String>, <your-name>"),
        ("\\<b> and \\{#a}", "\\<b> and \\{#a}"),
        ("a <5 and b> 3", "a <5 and b> 3"),
    ],
)
def test_html(text: str, left: str) -> None:
    assert text_of(text.encode(), "a.md") == left


def test_html_tables_have_a_header_and_rows() -> None:
    table = (
        "<div>\n  <table>\n    <tr><th>Office</th>\n    <th>Floor</th></tr>\n\n  <tr>\n      <td>Chicago</td>\n"
        "      <td>35th <br />\n      SW</td>\n    </tr>\n  </table>\n</div>"
    )
    assert text_of(table.encode(), "a.md") == "| Office | Floor |\n| --- | --- |\n| Chicago | 35th SW |"


def test_mdx() -> None:
    page = """---
title: 色
---

import { Chip } from 'smarthr-ui'
import Grid from '@/Grid.astro'

export const meta = {
  a: 1,
}

<Grid gap={{ row: 0, column: 1 }}>

    <Chip>UIデザイン</Chip>
</Grid>

<VideoEmbed
  src="a.mp4"
  on={() => { play({ a: 1 }) }}
/>

import duties from China rose.{" "}<Text>本文</Text>
"""
    reading = extract(page.encode(), "page.mdx")
    assert (reading.title, reading.text.split()) == (
        "色", ["UIデザイン", "import", "duties", "from", "China", "rose.", "本文"]
    )  # fmt: skip


@pytest.mark.parametrize(
    "code",
    [
        "```\n{MARKUP}\n```",
        "~~~~ {: .x }\n```\n{MARKUP}\n~~~~",
        "> ```\n> {MARKUP}\n> ```",
        "- item\n\n  ```py\n  {MARKUP}\n  ```",
        "Text:\n\n    {MARKUP}\n\n    {MARKUP}\n\nText",
        "- item\n\n      {MARKUP}",
        "Use `{MARKUP}` or `` ` {MARKUP} `` here.",
        "```{ .dockerfile .annotate }\n{MARKUP}\n```",
    ],
)
@pytest.mark.parametrize(
    "markup",
    [
        "<b>x</b>", "<!-- x -->", "{% x %}", "{ #x }", "{#x#}", "{* x *}", "::: tip", "/// tip", "&amp;", "<Foo />",
        "{func}x", "<div>", "{/* x */}", "(x)=", "import a from 'b'",
    ],
)  # fmt: skip
def test_code_is_untouched(code: str, markup: str) -> None:
    text = code.replace("{MARKUP}", markup)
    assert without_markup(text) == text


def test_code_in_admonitions_only_loses_its_indentation() -> None:
    text = '!!! note "A"\n\n    ```html\n    <b>\n\n      {% x %}\n    ```'
    assert text_of(text.encode(), "a.md") == "**A**\n\n```html\n<b>\n\n  {% x %}\n```"


words = st.text(
    st.characters(categories=["L", "N"], include_characters=" ,.;'’、。！？（）-"), min_size=1, max_size=40
).filter(str.strip)
code = st.sampled_from(["<b>", "{% x %}", "<!-- x", "{#a}", "::: tip", "&lt;", "a < b > c", "{func}x"])
PLAIN = [
    "# {0}", "{0}\n{1}", "- {0}\n- {1}", "1. {0}", "> {0}", "| {0} | {1} |\n|---|---|\n| {1} | {0} |", "**{0}** _{1}_",
    "[{0}](https://a.example/b?c=d&e=f)", "`{code}` {0}", "```\n{code}\n```", "~~~py\n{code}\n\n{code}\n~~~",
    "{0} < {1}",
]  # fmt: skip
MARKED = [
    "## {0} {{#a}}", "<!-- {0} -->", "{{% if x %}}\n{0}\n{{% endif %}}", "/// tip | {0}\n\n{1}\n\n///",
    "::: tip {0}\n{1}\n:::", '!!! note "{0}"\n\n    {1}\n\n    ```\n    {code}\n    ```', "<div>\n\n{0}\n\n</div>",
    "<p>{0}</p>", "{0} <kbd>{1}</kbd>", "{{ref}}`{0}`", "```{{note}}\n{0}\n```", '<Foo a="b">{0}</Foo>',
    "<table><tr><td>{0}</td><td>{1}</td></tr></table>",
]  # fmt: skip


def pages(templates: list[str]) -> st.SearchStrategy[str]:
    block = st.builds(
        lambda template, *parts, code: template.format(*parts, code=code),
        st.sampled_from(templates),
        words,
        words,
        code=code,
    )
    return st.lists(block, min_size=1, max_size=6).map("\n\n".join)


@given(pages(PLAIN))
def test_markdown_without_markup_is_unchanged(page: str) -> None:
    assert without_markup(page) == page


@given(pages(PLAIN + MARKED))
def test_cleaning_twice_changes_nothing(page: str) -> None:
    once = text_of(f"# start\n\n{page}".encode(), "a.md")
    assert text_of(once.encode(), "a.md") == once


@given(
    st.lists(
        st.sampled_from([*"`~<>{}%#*:/!?= \n\t'\"&;-", "<!--", "-->", "{%", "%}", "```", ":::", "<b", "a", "    "]),
        max_size=60,
    ).map("".join)
)
def test_any_markup_is_read(page: str) -> None:
    assert without_markup(f"start\n\n{page}\n\nend").startswith("start")


@pytest.mark.parametrize(
    "filling",
    ["{%", "{% a %}", "<!--", "{#", "{/*", '<a b="', "<a b={", "`a``", "{a}`", ":::\n", "!!! a\n\n", "!!! a\n    b\n",
     "<table\n", "<div>a\n", "<p>a\n\n", "&", "[a]({%", "```{note}\n", "```{eval-rst}\n", "<script>\n", "## a {#",
     "import {\n", "export const a =\n", "<A>", "- \n\n    "],
)  # fmt: skip
def test_hostile_markup_takes_linear_time(filling: str) -> None:
    started = time.process_time()
    without_markup("start\n\n" + filling * (100_000 // len(filling)))
    assert time.process_time() - started < 20  # quadratic time would be minutes
