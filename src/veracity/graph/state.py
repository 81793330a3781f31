"""What a run carries from step to step: plain values and LangChain messages, nothing else.

Checkpoints bring other things back as something else, silently: an enum as text, a Pydantic value as a dictionary.
"""

from __future__ import annotations

from typing import Annotated, Any, TypedDict

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage
from langgraph.graph.message import add_messages

from veracity.language import Language, guess_language
from veracity.llm import Message

KINDS: dict[str, type[SystemMessage | HumanMessage | AIMessage]] = {
    "system": SystemMessage,
    "user": HumanMessage,
    "assistant": AIMessage,
}


def as_langchain(message: Message) -> AnyMessage:
    return KINDS[message.role](message.text)


def as_ours(message: AnyMessage) -> Message:
    text = str(message.content)
    if isinstance(message, SystemMessage):
        return Message("system", text)
    return Message("assistant" if isinstance(message, AIMessage) else "user", text)


Plain = dict[str, Any]


def gathered(known: dict[str, list[Plain]], new: dict[str, list[Plain]] | None) -> dict[str, list[Plain]]:
    """What the sources found, each under its name. None empties it, for the next round."""
    return {} if new is None else {**known, **new}


class RunState(TypedDict, total=False):
    run_id: str
    user: str
    question: str
    language: Language
    messages: Annotated[list[AnyMessage], add_messages]
    notices: list[Plain]  # code, and what its text needs to know

    # The conversation (SPEC D2, D3).
    conversation: str
    summary: str  # of the turns before `recent`
    folded: int  # the number of the last turn that the summary holds
    recent: list[Plain]  # the turns before this one, word for word
    standalone: str  # the question as it is understood without the conversation
    route: str
    topic: str  # what is looked for among earlier answers

    # The retrieval loop (SPEC C6).
    query: str
    added: list[str]  # words to look for beside it, that count less
    original_queries: list[str]
    mended: str  # the question without its slips of spelling, where it had some
    sources: list[str]
    width: int  # passages that are graded
    weak_points: list[Plain]  # of the asker, that match the question
    found: Annotated[dict[str, list[Plain]], gathered]
    fused_results: list[Plain]
    quality_grade: str
    quality_score: float
    quality_issues: list[str]
    best_round: Plain  # query, evidence and quality of the best round so far
    first_round: list[Plain]  # the best evidence that the question itself found
    retry_count: int
    max_rewrites: int
    rewrote: bool

    # Attempts: the documents or earlier answers first; after a rejection the web, once (SPEC D7).
    attempt: int
    evidence_from: str  # history, knowledge or web
    web_tried: bool
    rejected: Plain  # the attempt that a person rejected, as it was
    decisions: list[Plain]

    # The answer review loop (SPEC A11).
    retrieved_nodes_score: list[Plain]  # the evidence that writer and reviewer are given
    epoch: int
    last_answer: str
    last_evaluation: Plain | None
    drafts: list[Plain]  # text, form and review of each
    abstains: bool
    missing: list[str]
    halted: bool  # no further draft can be had
    final_answer: str
    final_review: Plain | None
    form: str

    # The gate (SPEC D5).
    evaluation: Plain | None
    score: float | None


def asked(state: RunState) -> str:
    """What was asked, as it is understood."""
    return state["standalone"] or state["question"]


def matter(state: RunState) -> str:
    """What an answer has to speak of. An earlier answer is about the topic, not about having been given."""
    return state["topic"] if state["evidence_from"] == "history" and state["topic"] else asked(state)


def fresh_turn(run_id: str, question: str, user: str, max_rewrites: int, conversation: str = "") -> RunState:
    """Every default of a turn: what is not here is not there when it begins (SPEC D1)."""
    return RunState(
        run_id=run_id,
        user=user,
        question=question,
        language=guess_language(question),
        messages=[],
        notices=[],
        conversation=conversation,
        summary="",
        folded=0,
        recent=[],
        standalone="",
        route="",
        topic="",
        query=question,
        added=[],
        original_queries=[],
        mended="",
        sources=[],
        width=0,
        weak_points=[],
        found={},
        fused_results=[],
        quality_grade="",
        quality_score=0.0,
        quality_issues=[],
        best_round={},
        first_round=[],
        retry_count=0,
        max_rewrites=max_rewrites,
        rewrote=False,
        attempt=1,
        evidence_from="",
        web_tried=False,
        rejected={},
        decisions=[],
        **fresh_attempt(),
    )


class Attempt(TypedDict):
    retrieved_nodes_score: list[Plain]
    epoch: int
    last_answer: str
    last_evaluation: Plain | None
    drafts: list[Plain]
    abstains: bool
    missing: list[str]
    halted: bool
    final_answer: str
    final_review: Plain | None
    form: str
    evaluation: Plain | None
    score: float | None


def fresh_attempt() -> Attempt:
    """What begins anew with every attempt within a turn (SPEC A11)."""
    return Attempt(
        retrieved_nodes_score=[],
        epoch=0,
        last_answer="",
        last_evaluation=None,
        drafts=[],
        abstains=False,
        missing=[],
        halted=False,
        final_answer="",
        final_review=None,
        form="",
        evaluation=None,
        score=None,
    )
