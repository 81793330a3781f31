"""How a turn begins: what was said before, what is asked now, and where its answer is looked for (SPEC D1–D4).

Courtesies are answered at once, with words of ours. All else is looked for among earlier answers, in the documents or
on the web, and examined.
"""

from __future__ import annotations

from typing import Literal

from langgraph.runtime import Runtime

from veracity.agents import writer
from veracity.agents import writer as writer_module
from veracity.agents.follow_up.explicit_requests import from_the_web, which_turn
from veracity.agents.follow_up.small_talk import reply
from veracity.agents.router import Routing, RoutingTask
from veracity.agents.summarizer import Summary, SummaryTask
from veracity.errors import ModelError
from veracity.graph.context import Parts
from veracity.graph.state import Plain, RunState, as_langchain, asked
from veracity.graph.steps import trace
from veracity.language import Language, guess_language
from veracity.language.citations import without_marks
from veracity.models import Evidence, EvidenceMetadata, PastTurn, Route

EARLIER_ANSWERS = 3  # that are looked at, at most
MOST_TURNS, RECENT_TURNS = 1_000_000, 20  # that are looked at for the first one, and for the last
HISTORY: Route = "history"
WEB: Route = "web"
NOTHING_SAID: dict[Language, str] = {
    "en": "Nothing has been answered in this conversation yet.",
    "zh": "本次对话中还没有任何回答。",
    "ja": "この会話ではまだ何も回答していません。",
}


def process_input(state: RunState, runtime: Runtime[Parts]) -> Plain:
    """The question opens the conversation with the writer (SPEC A10)."""
    parts, question = runtime.context, state["question"]
    language = guess_language(question)
    instructions = parts.prompts.get("writer", writer.INSTRUCTIONS)
    opening = writer_module.opening(question, language, instructions)
    known: Plain = {}
    if state["conversation"]:
        remembered = parts.memory.remembered(state["user"], state["conversation"], state["run_id"])
        turns = [turn.model_dump(mode="json") for turn in remembered.turns]
        known = {"summary": remembered.summary, "folded": remembered.folded, "recent": turns}
    return {
        "language": language,
        "messages": [as_langchain(message) for message in opening],
        **known,
        **trace({"language": language, "turns": len(known.get("recent", [])), "folded": known.get("folded", 0)}),
    }


def summarize_if_needed(state: RunState, runtime: Runtime[Parts]) -> Plain:
    """Past a size, the older turns are folded into the summary; the recent ones stay word for word (SPEC D2). Several
    at a time, so that not every turn pays for it."""
    parts, settings = runtime.context, runtime.context.settings.conversation
    turns = _turns(state)
    older = turns[: -settings.recent_turns]
    size = sum(len(turn.question) + len(turn.answer) for turn in turns)
    if size <= settings.summarize_after or len(older) < max(1, settings.recent_turns // 2):
        return trace({"folded": state["folded"]})
    task = SummaryTask(
        summary=state["summary"],
        turns=older,
        longest=settings.longest_summary,
        language=state["language"],
        deadline=parts.limits.run,
        budget=parts.limits.budget,
    )
    summary, facts, notices = _summed_up(task, parts, state["notices"])
    folded = older[-1].number
    parts.memory.keep_summary(state["user"], state["conversation"], summary.text, folded)
    return {
        "summary": summary.text,
        "folded": folded,
        "recent": state["recent"][len(older) :],
        "notices": notices,
        **trace({**facts, "folded": folded, "usage": summary.usage.model_dump()}, {"summary": summary.text}),
    }


def decide_route(state: RunState, runtime: Runtime[Parts]) -> Plain:
    """Where to look, and what is really asked: a follow-up is understood by what came before it (SPEC D3)."""
    parts = runtime.context
    available: list[Route] = ["direct", "history", "knowledge", *([WEB] if parts.web else [])]
    task = RoutingTask(
        question=state["question"],
        summary=state["summary"],
        turns=_turns(state),
        available=available,
        deadline=parts.limits.run,
        budget=parts.limits.budget,
    )
    routing, facts, notices = _routed(task, parts, state["notices"])
    if parts.web is None and from_the_web(state["question"]) is not None:
        notices = [*notices, {"code": "web_not_configured"}]
    question = routing.topic if routing.route == WEB and routing.topic else routing.question
    direct = {"final_answer": reply(routing.courtesy, state["language"]), "form": "direct"}
    return {
        "route": routing.route,
        "standalone": question,
        "topic": routing.topic,
        "query": question,
        "added": list(routing.added),
        "notices": notices,
        **(direct if routing.route == "direct" else {}),
        **trace(
            {**facts, "route": routing.route, "usage": routing.usage.model_dump()},
            {"reason": routing.reason, "standalone": question, "added": list(routing.added)},
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


def answer_directly(state: RunState, runtime: Runtime[Parts]) -> Plain:
    """A courtesy states nothing, so there is nothing to examine."""
    return trace({"form": state["form"]})


def search_context(state: RunState, runtime: Runtime[Parts]) -> Plain:
    """Earlier answers that stood, of this conversation or of this user; never of another one (SPEC D4)."""
    parts = runtime.context
    wanted = state["topic"] or asked(state)
    which = which_turn(state["question"])
    evidence = _said_then(state, parts, which) if which else _said_about(state, parts, wanted)
    told = trace({"found": len(evidence), "scope": parts.settings.conversation.history}, {"query": wanted})
    if not evidence and which:
        return {"final_answer": NOTHING_SAID[state["language"]], "form": "direct", "evidence_from": "", **told}
    if not evidence:
        return {"query": wanted, "standalone": wanted, "evidence_from": "", **told}
    parts.memory.keep_evidence(state["run_id"], evidence, given=False)
    best = {"query": wanted, "evidence": [one.model_dump() for one in evidence], "quality": None}
    topic = evidence[0].title if which else state["topic"]
    return {"best_round": best, "evidence_from": HISTORY, "topic": topic, **told}


def after_search_context(state: RunState) -> Literal["prepare_messages", "select_sources", "answer_directly"]:
    """Nothing found: the documents may know (SPEC D4); but not what was said here first or last."""
    if state["evidence_from"] == HISTORY:
        return "prepare_messages"
    return "answer_directly" if state["form"] == "direct" else "select_sources"


def _said_about(state: RunState, parts: Parts, wanted: str) -> list[Evidence]:
    within = state["conversation"] if parts.settings.conversation.history == "conversation" else None
    if within == "":  # a single question has no conversation to look in
        return []
    found = parts.memory.past_turns(
        state["user"], within, wanted, parts.embed(wanted), EARLIER_ANSWERS, leave_out=state["run_id"]
    )
    return [_as_evidence(turn, without_marks(turn.answer)) for turn in found]


def _said_then(state: RunState, parts: Parts, which: Literal["first", "last"]) -> list[Evidence]:
    """The first or last turn that has an answer: with its question, which may be what is asked for."""
    if not state["conversation"]:
        return []
    limit = MOST_TURNS if which == "first" else RECENT_TURNS
    turns = parts.memory.turns(state["user"], state["conversation"], limit)
    usable = [turn for turn in turns if turn.answer and turn.run_id != state["run_id"]]
    chosen = usable[:1] if which == "first" else usable[-1:]
    return [_as_evidence(turn, f"{turn.question}\n{without_marks(turn.answer)}") for turn in chosen]


def _turns(state: RunState) -> list[PastTurn]:
    return [PastTurn.model_validate(one) for one in state["recent"]]


def _summed_up(task: SummaryTask, parts: Parts, notices: list[Plain]) -> tuple[Summary, Plain, list[Plain]]:
    try:
        return parts.summarizer.summarize(task), {"model": parts.summarizer.model}, notices
    except ModelError as problem:
        told = {"code": "not_summarized", "problem": str(problem)}
        return parts.local_summarizer.summarize(task), {"model": "", "failed": str(problem)}, [*notices, told]


def _routed(task: RoutingTask, parts: Parts, notices: list[Plain]) -> tuple[Routing, Plain, list[Plain]]:
    try:
        return parts.router.route(task), {"model": parts.router.model}, notices
    except ModelError as problem:
        told = {"code": "not_routed", "problem": str(problem)}
        return parts.local_router.route(task), {"model": "", "failed": str(problem)}, [*notices, told]


def _as_evidence(turn: PastTurn, text: str) -> Evidence:
    """Its marks named evidence of that turn, and mean nothing here."""
    known = {"relevance_score": turn.similarity, "found_by": [HISTORY], "asked": turn.asked.isoformat()}
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
        metadata=EvidenceMetadata.model_validate(known),
    )
