"""The sources that an answer cites: as fields for programs, and as text below the answer for people."""

from __future__ import annotations

from pathlib import PurePosixPath

from pydantic import BaseModel, Field

from veracity.engine import make_inert
from veracity.locales import text
from veracity.models import Answer

MAX_LABEL_LENGTH = 150  # of a title or file name


class CitedSource(BaseModel):
    number: int = Field(description="the [n] in the text")
    document_id: str
    title: str
    location: str
    page: int | None
    quote: str = Field(description="the document's text from `start` to `end`")
    start: int
    end: int


def cited_sources(answer: Answer) -> list[CitedSource]:
    """Each cited quote once, in the order of the text."""
    citations = (citation for sentence in answer.sentences for citation in sentence.citations)
    unique = {(one.number, one.start, one.end): one for one in citations if 1 <= one.number <= len(answer.evidence)}
    return [
        CitedSource(
            **citation.model_dump(include={"number", "document_id", "quote", "start", "end"}),
            **answer.evidence[citation.number - 1].model_dump(include={"title", "location", "page"}),
        )
        for citation in unique.values()
    ]


def render_with_sources(answer: Answer) -> str:
    """The answer, followed by its sources and notices in the language of the question. Titles come from documents, so
    they are formatted as code: no client turns them into links or images."""
    if answer.status == "awaiting_approval":
        return answer.text
    cited = {source.number: source for source in cited_sources(answer)}
    lists = {
        "sources": [f"[{number}] `{_label(cited[number], answer.language)}`" for number in sorted(cited)],
        "notes": [make_inert(notice.text) for notice in answer.notices],
    }
    sections = [
        "\n".join([text(answer.language, "server", key), "", *(f"- {line}" for line in lines)])
        for key, lines in lists.items()
        if lines
    ]
    return "\n\n".join([answer.text, *sections])


def name_file(source: CitedSource) -> str:
    """The last part of the location, on one line. Empty for an earlier answer, which is no file."""
    if source.document_id.startswith("run:"):
        return ""
    return _one_line(PurePosixPath(source.location.replace("\\", "/")).name)


def _label(source: CitedSource, language: str) -> str:
    """Title, file name and page, safe within backticks. The source may also be an earlier answer with its question."""
    title, file_name = _one_line(source.title), name_file(source)
    page = text(language, "server", "page", page=source.page) if source.page else ""
    labels = (title, "" if file_name == title else file_name, page)
    return ", ".join(filter(None, labels)) or _one_line(source.document_id)


def _one_line(label: str) -> str:
    return " ".join(label.replace("`", "'").split())[:MAX_LABEL_LENGTH]
