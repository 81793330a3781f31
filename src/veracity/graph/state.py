"""The state of a run: plain values and LangChain messages, nothing else.

Checkpoints silently return anything else as another type: an enum as text, a Pydantic model as a dictionary. They
outlive the process that wrote them, so keys keep their names.
"""

from __future__ import annotations

from typing import Annotated, Any, TypedDict

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage
from langgraph.channels import Topic
from langgraph.graph.message import add_messages

from veracity.language import Language, guess_language
from veracity.llm import Message
from veracity.models import RunParameters

Plain = dict[str, Any]


def merge_found(current: dict[str, list[Plain]], update: dict[str, list[Plain]] | None) -> dict[str, list[Plain]]:
    """Reducer for the results of parallel searches, by source. None clears them for the next round."""
    return {} if update is None else {**current, **update}


class RunState(TypedDict, total=False):
    run_id: str
    user: str
    question: str
    language: Language
    messages: Annotated[list[AnyMessage], add_messages]
    notices: list[Plain]  # code, the key of its text if that differs, and the values the text needs
    steps: Annotated[list[Plain], Topic(dict)]  # of the nodes that just finished: the next ones replace them
    calls: Annotated[list[Plain], Topic(dict)]  # to models, by these nodes, if `receipts.prompts` is set

    # The conversation (SPEC D2, D3).
    conversation: str
    summary: str  # of the turns before `recent`
    folded: int  # number of the last turn in the summary
    recent: list[Plain]  # the latest turns, verbatim
    standalone: str  # the question as understood without the conversation
    route: str
    topic: str  # subject to look for among earlier answers

    # The retrieval loop (SPEC C6).
    query: str
    added: list[str]  # extra search words with a lower weight
    original_queries: list[str]
    mended: str  # the question with its spelling corrected; empty if it had no mistakes
    sources: list[str]
    width: int  # number of passages to grade
    weak_points: list[Plain]  # the user's weak points that match the question
    found: Annotated[dict[str, list[Plain]], merge_found]
    fused_results: list[Plain]
    quality_grade: str
    quality_score: float
    quality_issues: list[str]
    best_round: Plain  # query, evidence and quality of the best round so far
    first_round: list[Plain]  # the best evidence found by the question itself
    retry_count: int
    max_rewrites: int
    rewrote: bool

    # Attempts: documents or earlier answers first; after a rejection the web, once (SPEC D7).
    attempt: int
    evidence_from: str  # history, knowledge or web
    web_tried: bool
    rejected: Plain  # the rejected attempt's values
    decisions: list[Plain]
    notes: list[str]  # of the drafts that were sent back (SPEC D10)

    # The answer review loop (SPEC A11).
    retrieved_nodes_score: list[Plain]  # the evidence for writer and reviewer
    guide: Plain | None  # what the local writer makes of it, with `answering.guide`
    epoch: int
    last_answer: str
    last_evaluation: Plain | None
    drafts: list[Plain]  # text, form and review of each
    abstains: bool
    tentative: bool  # the draft is a passage that may answer
    missing: list[str]
    halted: bool  # no further draft is possible
    final_answer: str
    final_review: Plain | None
    form: str

    # The gate (SPEC D5, A14, A15).
    evaluation: Plain | None
    score: float | None
    grounding: list[Plain]  # the local checks beside the metrics (SPEC A15)


class Attempt(TypedDict):
    """The keys that start afresh with every attempt within a turn."""

    retrieved_nodes_score: list[Plain]
    guide: Plain | None
    epoch: int
    last_answer: str
    last_evaluation: Plain | None
    drafts: list[Plain]
    abstains: bool
    tentative: bool
    missing: list[str]
    halted: bool
    final_answer: str
    final_review: Plain | None
    form: str
    evaluation: Plain | None
    score: float | None
    grounding: list[Plain]


def fresh_turn(run: RunParameters) -> RunState:
    """Every default of a turn (SPEC D1)."""
    return RunState(
        run_id=run.run_id,
        user=run.user,
        question=run.question,
        language=guess_language(run.question),
        messages=[],
        notices=[],
        steps=[],
        calls=[],
        conversation=run.conversation,
        summary="",
        folded=0,
        recent=[],
        standalone="",
        route="",
        topic="",
        query=run.question,
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
        max_rewrites=run.max_rewrites,
        rewrote=False,
        attempt=1,
        evidence_from="",
        web_tried=False,
        rejected={},
        decisions=[],
        notes=[],
        **fresh_attempt(),
    )


def fresh_attempt() -> Attempt:
    """Every default of an attempt (SPEC A11)."""
    return Attempt(
        retrieved_nodes_score=[],
        guide=None,
        epoch=0,
        last_answer="",
        last_evaluation=None,
        drafts=[],
        abstains=False,
        tentative=False,
        missing=[],
        halted=False,
        final_answer="",
        final_review=None,
        form="",
        evaluation=None,
        score=None,
        grounding=[],
    )


def standalone_question(state: RunState) -> str:
    """The question as understood, without needing the conversation."""
    return state["standalone"] or state["question"]


def answer_topic(state: RunState) -> str:
    """What the answer has to be about. For an earlier answer that is its topic, not the request to repeat it."""
    is_recalled = state["evidence_from"] == "history" and state["topic"]
    return state["topic"] if is_recalled else standalone_question(state)


def to_langchain(message: Message) -> AnyMessage:
    kinds: dict[str, type[SystemMessage | HumanMessage | AIMessage]] = {
        "system": SystemMessage,
        "user": HumanMessage,
        "assistant": AIMessage,
    }
    return kinds[message.role](message.text)


def from_langchain(message: AnyMessage) -> Message:
    text = str(message.content)
    if isinstance(message, SystemMessage):
        return Message("system", text)
    return Message("assistant" if isinstance(message, AIMessage) else "user", text)
