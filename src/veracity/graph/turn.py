"""How a turn starts: load the conversation, understand the question, choose the route (SPEC D1–D4).

Small talk is answered directly with a fixed text and, with a router model, so are arithmetic and questions about the
assistant. Everything else is searched for among earlier answers, in the documents or on the web, and reviewed.
"""

from __future__ import annotations

from typing import Literal

from langgraph.runtime import Runtime

from veracity import locales
from veracity.agents.base import Routing, RoutingTask, Summary, SummaryTask
from veracity.agents.follow_up.explicit_requests import parse_turn_request, parse_web_request
from veracity.agents.writer import opening_messages
from veracity.errors import ModelError
from veracity.graph.context import RunContext
from veracity.graph.report import report
from veracity.graph.state import Plain, RunState, standalone_question, to_langchain
from veracity.language import guess_language
from veracity.language.citations import without_marks
from veracity.models import Evidence, EvidenceMetadata, PastTurn, Route
from veracity.models.steps import (
    DirectAnswerFacts,
    ProcessInputFacts,
    QueryTexts,
    RouteFacts,
    RouteTexts,
    SearchContextFacts,
    SummarizeFacts,
    SummarizeTexts,
)

MAX_EARLIER_ANSWERS = 3
MAX_TURNS, RECENT_TURNS = 1_000_000, 20  # read to find the first turn, and the last
HISTORY: Route = "history"
WEB: Route = "web"


def process_input(state: RunState, runtime: Runtime[RunContext]) -> Plain:
    """Load the conversation and start the writer's messages with instructions and question (SPEC A10)."""
    context, question = runtime.context, state["question"]
    language = guess_language(question)
    opening = opening_messages(question, language, context.prompts.get("writer"))
    update: Plain = {
        "language": language,
        "messages": [to_langchain(message) for message in opening],
    }
    facts = ProcessInputFacts(language=language, turns=0, folded=0)
    if state["conversation"]:
        remembered = context.memory.remembered(state["user"], state["conversation"], state["run_id"])
        turns = [turn.model_dump(mode="json") for turn in remembered.turns]
        update |= {"summary": remembered.summary, "folded": remembered.folded, "recent": turns}
        facts = ProcessInputFacts(language=language, turns=len(turns), folded=remembered.folded)
    return {**update, **report(facts)}


def summarize_if_needed(state: RunState, runtime: Runtime[RunContext]) -> Plain:
    """Fold older turns into the summary when the conversation is long; recent turns stay verbatim (SPEC D2).

    Several turns are folded at once, so that not every turn pays for a summary.
    """
    context, settings = runtime.context, runtime.context.settings.conversation
    turns = _recent_turns(state)
    older = turns[: -settings.recent_turns]
    size = sum(len(turn.question) + len(turn.answer) for turn in turns)
    if size <= settings.summarize_after or len(older) < max(1, settings.recent_turns // 2):
        return report(SummarizeFacts(folded=state["folded"]))
    task = SummaryTask(
        summary=state["summary"],
        turns=older,
        max_length=settings.longest_summary,
        language=state["language"],
        deadline=context.limits.deadline,
        budget=context.limits.budget,
    )
    summary, failure, notices = _summarize(task, context, state["notices"])
    folded = older[-1].number
    context.memory.keep_summary(state["user"], state["conversation"], summary.text, folded)
    return {
        "summary": summary.text,
        "folded": folded,
        "recent": state["recent"][len(older) :],
        "notices": notices,
        **report(
            SummarizeFacts(
                model="" if failure else context.summarizer.model, folded=folded, usage=summary.usage, **failure
            ),
            SummarizeTexts(summary=summary.text),
        ),
    }


def decide_route(state: RunState, runtime: Runtime[RunContext]) -> Plain:
    """Choose where to search, and make a follow-up question standalone (SPEC D3)."""
    context = runtime.context
    available: list[Route] = ["direct", "history", "knowledge", *([WEB] if context.web else [])]
    task = RoutingTask(
        question=state["question"],
        summary=state["summary"],
        turns=_recent_turns(state),
        available=available,
        deadline=context.limits.deadline,
        budget=context.limits.budget,
    )
    routing, failure, notices = _route(task, context, state["notices"])
    if context.web is None and parse_web_request(state["question"]) is not None:
        notices = [*notices, {"code": "web_not_configured"}]
    question = routing.topic if routing.route == WEB and routing.topic else routing.question
    if routing.route == "direct" and routing.states_facts:
        notices = [*notices, {"code": "not_from_documents"}]
    direct = {"final_answer": routing.reply, "form": "direct"}
    return {
        "route": routing.route,
        "standalone": question,
        "topic": routing.topic,
        "query": question,
        "added": list(routing.added),
        "notices": notices,
        **(direct if routing.route == "direct" else {}),
        **report(
            RouteFacts(
                model="" if failure else context.router.model, route=routing.route, usage=routing.usage, **failure
            ),
            RouteTexts(reason=routing.reason, standalone=question, added=list(routing.added)),
        ),
    }


def after_decide_route(
    state: RunState,
) -> Literal["answer_directly", "search_context", "select_sources", "web_search"]:
    match state["route"]:
        case "direct":
            return "answer_directly"
        case "history":
            return "search_context"
        case "web":
            return "web_search"
    return "select_sources"


def answer_directly(state: RunState, runtime: Runtime[RunContext]) -> Plain:
    """The reply is a fixed text or was computed, so there is nothing to review."""
    return report(DirectAnswerFacts(form=state["form"]))


def search_context(state: RunState, runtime: Runtime[RunContext]) -> Plain:
    """Search earlier approved answers of this conversation or user; never of another user (SPEC D4)."""
    context = runtime.context
    topic = state["topic"] or standalone_question(state)
    which = parse_turn_request(state["question"])
    evidence = _turn_evidence(state, context, which) if which else _topic_evidence(state, context, topic)
    scope = context.settings.conversation.history
    reported = report(SearchContextFacts(found=len(evidence), scope=scope), QueryTexts(query=topic))
    if not evidence and which:
        text = locales.text(state["language"], "graph", "no_earlier_answer")
        return {"final_answer": text, "form": "direct", "evidence_from": "", **reported}
    if not evidence:
        return {"query": topic, "standalone": topic, "evidence_from": "", **reported}
    context.memory.keep_evidence(state["run_id"], evidence, given=False)
    best = {"query": topic, "evidence": [item.model_dump() for item in evidence], "quality": None}
    answered = evidence[0].title if which else state["topic"]
    return {"best_round": best, "evidence_from": HISTORY, "topic": answered, **reported}


def after_search_context(state: RunState) -> Literal["prepare_messages", "select_sources", "answer_directly"]:
    """Searches the documents if there is no earlier answer (SPEC D4), unless the first or last turn was asked for."""
    if state["evidence_from"] == HISTORY:
        return "prepare_messages"
    return "answer_directly" if state["form"] == "direct" else "select_sources"


def _topic_evidence(state: RunState, context: RunContext, topic: str) -> list[Evidence]:
    if context.run.only:  # earlier answers may come from other documents
        return []
    conversation = state["conversation"] if context.settings.conversation.history == "conversation" else None
    if conversation == "":  # a single question has no conversation to search
        return []
    turns = context.memory.past_turns(
        state["user"], conversation, topic, context.embed(topic), MAX_EARLIER_ANSWERS, exclude_run=state["run_id"]
    )
    return [_to_evidence(turn, without_marks(turn.answer)) for turn in turns]


def _turn_evidence(state: RunState, context: RunContext, which: Literal["first", "last"]) -> list[Evidence]:
    """The first or last turn with an answer. Includes its question, which may be what is asked for."""
    if not state["conversation"]:
        return []
    limit = MAX_TURNS if which == "first" else RECENT_TURNS
    turns = context.memory.turns(state["user"], state["conversation"], limit)
    answered = [turn for turn in turns if turn.answer and turn.run_id != state["run_id"]]
    chosen = answered[:1] if which == "first" else answered[-1:]
    return [_to_evidence(turn, f"{turn.question}\n{without_marks(turn.answer)}") for turn in chosen]


def _recent_turns(state: RunState) -> list[PastTurn]:
    return [PastTurn.model_validate(turn) for turn in state["recent"]]


def _summarize(
    task: SummaryTask, context: RunContext, notices: list[Plain]
) -> tuple[Summary, dict[str, str], list[Plain]]:
    """Use the local summarizer when the model fails."""
    try:
        return context.summarizer.summarize(task), {}, notices
    except ModelError as error:
        notice = {"code": "not_summarized", "problem": str(error)}
        return context.local_summarizer.summarize(task), {"failed": str(error)}, [*notices, notice]


def _route(task: RoutingTask, context: RunContext, notices: list[Plain]) -> tuple[Routing, dict[str, str], list[Plain]]:
    """Use the local router when the model fails."""
    try:
        return context.router.route(task), {}, notices
    except ModelError as error:
        notice = {"code": "not_routed", "problem": str(error)}
        return context.local_router.route(task), {"failed": str(error)}, [*notices, notice]


def _to_evidence(turn: PastTurn, text: str) -> Evidence:
    metadata = {"relevance_score": turn.similarity, "found_by": [HISTORY], "asked": turn.asked.isoformat()}
    return Evidence(
        id=f"turn:{turn.run_id}",
        text=text,
        source=HISTORY,
        document_id=f"run:{turn.run_id}",
        title=turn.question,
        location=f"run:{turn.run_id}",
        headings=[],
        page=None,
        start=0,
        end=len(text),
        language=guess_language(text),
        metadata=EvidenceMetadata.model_validate(metadata),
    )
