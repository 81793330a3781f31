"""A receipt as one page: everything that is known of a run, from the question to the time of each step (SPEC X3).

The page holds no script and no link that leads out of it, and asks for nothing from anywhere: its policy says so to the
browser. Its labels are in the language of the question.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator
from importlib.resources import files

from veracity.language import Language, guess_language
from veracity.models import Answer, Approval, Receipt
from veracity.pages.answers import answer_text, citations_of, remarks
from veracity.pages.decisions import decisions
from veracity.pages.drafts import drafts
from veracity.pages.elements import Safe, joined, tag
from veracity.pages.feedback import feedback
from veracity.pages.labels import LANGUAGES, Words
from veracity.pages.layout import badge, facts, language_of, moment, section, span
from veracity.pages.passages import numbered
from veracity.pages.scores import scores
from veracity.pages.searches import searches, web_lookups
from veracity.pages.timeline import timeline

TONES = {"answered": "good", "rejected": "bad", "failed": "bad"}

Part = tuple[str, list[Safe]]


def receipt_page(receipt: Receipt) -> str:
    words = Words(_language(receipt))
    style = files("veracity.pages").joinpath("receipt.css").read_text(encoding="utf-8")
    parts = [(name, shown) for name, shown in _parts(receipt, words) if shown]
    body = tag(
        "body",
        _header(receipt, words),
        _contents([name for name, _ in parts], words),
        tag("main", *(section(name, words(name), *shown) for name, shown in parts)),
    )
    page = tag("html", tag("head", *_head(receipt, style, words)), body, lang=words.tag)
    return f"<!doctype html>\n{page}\n"


def _language(receipt: Receipt) -> Language:
    told = receipt.answer.language if receipt.answer else ""
    return next((one for one in LANGUAGES if one == told), guess_language(receipt.run.question))


def _head(receipt: Receipt, style: str, words: Words) -> Iterator[Safe]:
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    yield tag("meta", charset="utf-8")
    yield tag("meta", http_equiv="Content-Security-Policy", content=policy)
    yield tag("meta", name="viewport", content="width=device-width, initial-scale=1")
    yield tag("meta", name="color-scheme", content="light dark")
    yield tag("meta", name="referrer", content="no-referrer")
    question = " ".join(receipt.run.question.split())
    yield tag("title", f"{question[:80]} · {words('receipt')}")
    yield tag("style", Safe(style))


def _header(receipt: Receipt, words: Words) -> Safe:
    run = receipt.run
    understood = receipt.standalone or (receipt.answer.standalone if receipt.answer else "")
    differs = understood and understood != run.question
    return tag(
        "header",
        tag("p", "Veracity · ", words("receipt"), class_="eyebrow"),
        tag("h1", run.question or words("removed")),
        tag("p", words("understood"), ": ", tag("q", understood), class_="understood") if differs else None,
        tag("p", badge(words.named("status", run.status), TONES.get(run.status, "fair"))),
        facts(
            (words("run"), tag("code", run.run_id)),
            (words("started"), moment(run.started)),
            (words("duration"), None if run.seconds is None else span(run.seconds)),
            (words("user"), run.user),
            (words("conversation"), run.conversation),
            (words("problem"), tag("span", run.problem, class_="trouble") if run.problem else None),
        ),
    )


def _contents(names: list[str], words: Words) -> Safe:
    links = [tag("li", tag("a", words(name), href=f"#{name}")) for name in names]
    return tag("nav", tag("ul", *links), aria_label=words("contents"))


def _parts(receipt: Receipt, words: Words) -> Iterator[Part]:
    """Every part of the page, by the name of its title; one without content is left out."""
    yield "answer", list(_answer(receipt, words))
    yield "route", list(_route(receipt, words))
    yield "searches", list(searches(receipt.rounds, words))
    yield "evidence", list(_evidence(receipt, words))
    yield "drafts", list(drafts(receipt.drafts, words))
    yield "scores", list(scores(receipt.scorings, words))
    yield "decisions", decisions(receipt, words)
    yield "feedback", feedback(receipt.feedback, words)
    yield "web", list(web_lookups(receipt.web, words))
    yield "spending", list(_spending(receipt, words))
    yield "timeline", timeline(receipt.steps, receipt.approvals, words)


def _answer(receipt: Receipt, words: Words) -> Iterator[Safe]:
    answer, waiting = receipt.answer, _waiting(receipt)
    if answer is None:
        is_over = receipt.run.status not in ("running", "awaiting_approval")
        yield tag("p", words("no_answer" if is_over else "no_answer_yet"))
    else:
        yield tag("div", answer_text(answer, words), class_="answer")
        if answer.status in ("answered", "rejected"):
            yield tag("p", words.named("form", answer.form), class_="quiet")
        yield from remarks(answer, words)
    if waiting:
        yield tag("h3", words("waiting_draft"))
        yield tag("div", answer_text(waiting.draft, words), class_="answer")
        yield from remarks(waiting.draft, words)


def _waiting(receipt: Receipt) -> Approval | None:
    return next((one for one in reversed(receipt.approvals) if one.state == "pending"), None)


def _route(receipt: Receipt, words: Words) -> Iterator[Safe]:
    yield tag("p", tag("strong", words.named("route", receipt.route)))
    if receipt.route_reason:
        yield tag("p", receipt.route_reason, lang=language_of(receipt.route_reason, words.tag))


def _evidence(receipt: Receipt, words: Words) -> Iterator[Safe]:
    """What the writer had in each attempt, the last one first: the answer cites it."""
    attempts = _by_attempt(receipt)
    for attempt, answers in sorted(attempts.items(), reverse=True):
        given = max((answer.evidence for answer in answers), key=len)
        cited = [citation for answer in answers for citation in citations_of(answer)]
        if len(attempts) > 1 or attempt > 1:
            yield tag("p", words("attempt", number=attempt), class_="eyebrow")
        yield from numbered(given, cited, attempt, words)


def _by_attempt(receipt: Receipt) -> dict[int, list[Answer]]:
    found: dict[int, list[Answer]] = {}
    answers = [approval.draft.model_copy(update={"attempt": approval.attempt}) for approval in receipt.approvals]
    for answer in [*answers, *([receipt.answer] if receipt.answer else [])]:
        if answer.evidence:
            found.setdefault(answer.attempt, []).append(answer)
    return found


def _spending(receipt: Receipt, words: Words) -> Iterator[Safe]:
    usage = receipt.usage
    cost = words("unknown") if usage.cost_usd is None else f"${usage.cost_usd:.4f}"
    yield joined(
        facts(*((words.named("role", role), tag("code", model)) for role, model in receipt.models.items())),
        facts(
            (words("calls"), f"{usage.calls:,}"),
            (words("input_tokens"), f"{usage.input_tokens:,}"),
            (words("output_tokens"), f"{usage.output_tokens:,}"),
            (words("cost"), cost),
        ),
    )
