"""The agents' protocols, tasks and results. An agent calls a language model, or is local: then `model` is empty."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from veracity.deadlines import Deadline
from veracity.language import Language
from veracity.llm import Budget, Message, OnText
from veracity.models import NOTHING_USED, AnswerForm, Evidence, PastTurn, Quality, Review, Route, Usage


@dataclass(frozen=True, slots=True)
class WritingTask:
    """`messages` is the whole input of a model, including feedback on the last draft (SPEC A10). `on_text` receives a
    model's draft while it is being written: verbatim, not reviewed and not made inert.

    `question` is as typed. `corrected` has its spelling corrected, and is empty if there was nothing to correct.
    `typed_relevance` is the best relevance that the question as typed found, before it was rewritten."""

    question: str
    evidence: Sequence[Evidence]
    messages: Sequence[Message]
    deadline: Deadline = field(default_factory=Deadline)
    budget: Budget | None = None
    on_text: OnText | None = None
    corrected: str = ""
    typed_relevance: float = 1.0


@dataclass(frozen=True, slots=True)
class WriterOutput:
    """A draft or, if it `abstains`, a sentence that says what the evidence lacks.

    A `tentative` draft is a passage that may answer the question: a person decides whether it does."""

    text: str
    abstains: bool = False
    tentative: bool = False
    missing: tuple[str, ...] = ()
    usage: Usage = NOTHING_USED


class Writer(Protocol):
    form: AnswerForm
    model: str

    def write(self, task: WritingTask) -> WriterOutput: ...


@dataclass(frozen=True, slots=True)
class ReviewTask:
    question: str
    draft: str
    evidence: Sequence[Evidence]
    deadline: Deadline = field(default_factory=Deadline)
    budget: Budget | None = None


class Reviewer(Protocol):
    model: str

    def review(self, task: ReviewTask) -> Review: ...


@dataclass(frozen=True, slots=True)
class RewriteTask:
    """`tried` holds all queries so far, the question first. `evidence` is the best found so far, and `quality` its
    grade. `sources` were searched; `available` are all that exist."""

    question: str
    tried: Sequence[str]
    evidence: Sequence[Evidence]
    quality: Quality
    sources: Sequence[str]
    available: Sequence[str]
    weak_points: Sequence[str] = ()
    deadline: Deadline = field(default_factory=Deadline)
    budget: Budget | None = None


@dataclass(frozen=True, slots=True)
class Rewrite:
    """The next query. `sources` are to be searched now; `widen` asks for more passages from each.

    `added` are search terms from passages, not from the user. They count less: the passages they came from contain them
    anyway. `corrected` is the question with its spelling corrected; empty if there was nothing to correct."""

    query: str
    sources: tuple[str, ...]
    reason: str
    widen: bool = False
    usage: Usage = NOTHING_USED
    added: tuple[str, ...] = ()
    corrected: str = ""

    @property
    def full_query(self) -> str:
        """The query as it is displayed and compared with earlier ones."""
        return format_query(self.query, self.added)


def format_query(query: str, added: Sequence[str]) -> str:
    return f"{query} + {' '.join(added)}" if added else query


class Rewriter(Protocol):
    model: str

    def rewrite(self, task: RewriteTask) -> Rewrite | None:
        """None if there is nothing new to try: a query is never returned twice."""
        ...


@dataclass(frozen=True, slots=True)
class RoutingTask:
    """`turns` are the latest ones, oldest first; `summary` covers those before. `available` are the routes that can be
    taken; "knowledge" always can."""

    question: str
    summary: str = ""
    turns: Sequence[PastTurn] = ()
    available: Sequence[Route] = ("direct", "history", "knowledge")
    deadline: Deadline = field(default_factory=Deadline)
    budget: Budget | None = None


@dataclass(frozen=True, slots=True)
class Routing:
    """`question` reads without the conversation; it is the user's question byte for byte if that is standalone already.

    `added` are further search terms from the conversation, which count less. `topic` is what to look for among earlier
    answers or on the web; empty means `question`. `reply` is the answer of the route "direct"; `states_facts`:
    the reply is more than small talk, so a notice says that it does not come from the documents."""

    route: Route
    reason: str
    question: str
    added: tuple[str, ...] = ()
    topic: str = ""
    reply: str = ""
    states_facts: bool = False
    usage: Usage = NOTHING_USED


class Router(Protocol):
    model: str

    def route(self, task: RoutingTask) -> Routing: ...


@dataclass(frozen=True, slots=True)
class SummaryTask:
    """`turns` are to be folded into `summary`, which covers the turns before them. `max_length` is in characters."""

    summary: str
    turns: Sequence[PastTurn]
    max_length: int
    language: Language = "en"
    deadline: Deadline = field(default_factory=Deadline)
    budget: Budget | None = None


@dataclass(frozen=True, slots=True)
class Summary:
    text: str
    usage: Usage = NOTHING_USED


class Summarizer(Protocol):
    model: str

    def summarize(self, task: SummaryTask) -> Summary: ...
