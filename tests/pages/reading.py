"""Reading a page back as a browser would."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import NamedTuple

VOID = ("meta", "br")


class Element(NamedTuple):
    name: str
    attributes: dict[str, str | None]
    text: str  # all of it, that of the elements within included


class Page(HTMLParser):
    """`elements` in the order in which they begin. Fails on an element that is not closed where it should be."""

    def __init__(self, source: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[Element] = []
        self._open: list[int] = []
        self.feed(source)
        self.close()
        assert not self._open, "elements are left open"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert len(dict(attrs)) == len(attrs), "an attribute stands twice"
        self.elements.append(Element(tag, dict(attrs), ""))
        if tag not in VOID:
            self._open.append(len(self.elements) - 1)

    def handle_endtag(self, tag: str) -> None:
        assert self.elements[self._open.pop()].name == tag

    def handle_data(self, data: str) -> None:
        for place in self._open:
            element = self.elements[place]
            self.elements[place] = element._replace(text=element.text + data)

    def handle_comment(self, data: str) -> None:
        raise AssertionError(f"a comment: {data}")

    def all(self, name: str, class_: str = "") -> list[Element]:
        return [
            one
            for one in self.elements
            if one.name == name and (not class_ or class_ in (one.attributes.get("class") or "").split())
        ]

    def section(self, name: str) -> str:
        """The text of a part of the page; empty where there is none."""
        return next((one.text for one in self.elements if one.attributes.get("id") == name), "")

    @property
    def text(self) -> str:
        return self.all("body")[0].text

    @property
    def shape(self) -> list[tuple[str, tuple[str, ...]]]:
        """Which elements with which attributes, whatever they say."""
        return [(one.name, tuple(one.attributes)) for one in self.elements]
