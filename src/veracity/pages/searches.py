"""What was searched for and found, among the documents and on the web, on a page. Knows nothing about answers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from veracity.models import Quality, Round
from veracity.models.run import WebLookup, WebPage
from veracity.pages.elements import Child, Safe, joined, tag
from veracity.pages.labels import Words
from veracity.pages.layout import badge, bar, bullets, facts, folded, language_of, moment
from veracity.pages.passages import listed

TONES = {"high": "good", "medium": "fair", "low": "bad"}


def searches(rounds: Sequence[Round], words: Words) -> Iterator[Safe]:
    for number, one in enumerate(rounds, 1):
        quality, name = one.quality, words("search", number=number)
        grade = badge(f"{words.named('grade', quality.grade)} {quality.score:.2f}", TONES[quality.grade])
        yield tag("article", tag("h3", name, " ", grade), *_round(one, words), class_="card")


def web_lookups(found: Sequence[WebLookup], words: Words) -> Iterator[Safe]:
    for lookup in found:
        pages = [tag("li", *_page(page, words), class_="passage") for page in lookup.pages]
        yield tag(
            "article",
            tag("h3", words("attempt", number=lookup.attempt)),
            facts(
                (words("query"), lookup.query or words("removed")),
                (words("provider"), lookup.provider),
                (words("problem"), lookup.problem),
            ),
            folded(words("pages", count=len(pages)), tag("ol", *pages), is_open=True) if pages else None,
            folded(words("passages", count=len(lookup.evidence)), listed(lookup.evidence, words))
            if lookup.evidence
            else None,
            class_="card",
        )


def _round(one: Round, words: Words) -> Iterator[Child]:
    yield tag("p", one.query or words("removed"), class_="query")
    if one.rewritten:
        yield facts((words("rewritten"), tag("span", one.rewritten, lang=language_of(one.rewritten, words.tag))))
    yield facts((words("sources"), words("comma").join(words.named("source", source) for source in one.sources)))
    yield _dimensions(one.quality, words)
    if issues := bullets([issue.text for issue in one.quality.issues], "en" if words.tag != "en" else None):
        yield joined(tag("h4", words("issues")), issues)
    if one.evidence:
        yield folded(words("passages", count=len(one.evidence)), listed(one.evidence, words))


def _dimensions(quality: Quality, words: Words) -> Safe:
    known = [(name, getattr(quality, name)) for name in ("coverage", "relevance", "diversity", "count")]
    rows = [_dimension(words(name), share) for name, share in known if share is not None]
    return tag("div", *rows, class_="dimensions")


def _dimension(name: str, share: float) -> Safe:
    figure = tag("span", f"{share:.2f}", class_="figure")
    return tag("div", tag("span", name, class_="name"), bar(share, f"{name}: {share:.2f}"), figure, class_="scored")


def _page(page: WebPage, words: Words) -> Iterator[Child]:
    yield tag("div", page.title or words("untitled"))
    yield tag("code", page.url)
    yield tag("div", words("retrieved"), ": ", moment(page.retrieved), class_="quiet")
    if page.problem:
        yield tag("div", words("problem"), ": ", page.problem, class_="trouble")
