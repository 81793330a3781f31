"""Parses a rendered page as a browser would."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import NamedTuple

VOID = ("meta", "br", "hr")


class Element(NamedTuple):
    name: str
    attributes: dict[str, str | None]
    text: str  # including that of nested elements


class Page(HTMLParser):
    """`elements` are in document order. Fails on an element that is not closed correctly."""

    def __init__(self, source: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[Element] = []
        self._open: list[int] = []
        self.feed(source)
        self.close()
        assert not self._open, "unclosed elements"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert len(dict(attrs)) == len(attrs), "duplicate attribute"
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
            element
            for element in self.elements
            if element.name == name and (not class_ or class_ in (element.attributes.get("class") or "").split())
        ]

    def section(self, name: str) -> str:
        """The text of a part of the page; empty where there is nelement."""
        return next((element.text for element in self.elements if element.attributes.get("id") == name), "")

    @property
    def text(self) -> str:
        return self.all("body")[0].text

    @property
    def shape(self) -> list[tuple[str, tuple[str, ...]]]:
        """Every element with the names of its attributes, without any text."""
        return [(element.name, tuple(element.attributes)) for element in self.elements]
