"""Whatever a text says, it stays text."""

import unicodedata

from hypothesis import example, given
from hypothesis import strategies as st

from tests.pages.reading import Page
from veracity.pages.elements import joined, tag, text
from veracity.printable import visible

anything = st.text(st.characters(), max_size=60)


@given(anything)
@example("</p><script>alert(1)</script>")
@example("&lt;script&gt; &amp;amp; &#60;b&#62;")
@example("<!-- x --> <![CDATA[ <b> ]]> <?php ?>")
def test_a_text_is_no_element(said: str) -> None:
    page = Page(tag("p", said))
    assert page.shape == [("p", ())]
    assert page.elements[0].text == visible(said.replace("\r\n", "\n"))


@given(anything)
@example('" onmouseover="alert(1)')
@example("' autofocus onfocus='alert(1)")
def test_a_text_in_an_attribute_adds_none(said: str) -> None:
    page = Page(tag("p", title=said))
    assert page.shape == [("p", ("title",))]
    assert page.elements[0].attributes["title"] == visible(said.replace("\r\n", "\n"))


@given(anything)
def test_nothing_unseen_reaches_a_page(said: str) -> None:
    shown = text(said)
    assert all(one in "\n\t" or unicodedata.category(one) not in ("Cc", "Cf", "Cs", "Co") for one in shown)
    shown.encode()


def test_what_turns_the_direction_of_text_is_made_visible() -> None:
    assert text("a\u202egnp.exe\u2066\x1b[2J\x00\ud800") == "a�gnp.exe��[2J��"


def test_lines_of_any_system_are_lines() -> None:
    assert text("one\r\ntwo\nthree") == "one\ntwo\nthree"


def test_elements_within_elements() -> None:
    made = tag("p", "a < ", tag("b", "b"), [None, " & ", joined("c", tag("br"))], class_="x", hidden=True, id=None)
    assert made == '<p class="x" hidden>a &lt; <b>b</b> &amp; c<br></p>'
