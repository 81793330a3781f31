"""The summarizers: fold older turns of a conversation into a running summary, with and without a model (SPEC D2)."""

from __future__ import annotations

from collections.abc import Sequence

from veracity.agents.base import Summary, SummaryTask
from veracity.agents.prompts import agent_text, load_prompt
from veracity.agents.writer import to_json
from veracity.grounding.statements import statements
from veracity.language import Language, sentences
from veracity.language.excerpts import plain_line, truncate
from veracity.llm import LLM, Message, TextRequest
from veracity.models import PastTurn

ROLE = "summarizer"
MAX_RETRIES = 1
MAX_PROMPT_ANSWER_LENGTH = 2000  # characters of each answer in the prompt
MAX_QUESTION_LENGTH = 160  # characters; the local form
MAX_ANSWER_LENGTH = 240
SHORT_LENGTH = 60  # of questions and answers when they do not all fit
ARROW = " → "


class LLMSummarizer:
    def __init__(self, llm: LLM, model: str, instructions: str | None = None) -> None:
        self.model = model
        self._llm = llm
        self._instructions = instructions or load_prompt(f"instructions/{ROLE}")

    def summarize(self, task: SummaryTask) -> Summary:
        if not task.turns:
            return Summary(shorten(task.summary, task.max_length))
        messages = (Message("system", self._instructions), Message("user", make_request(task)))
        request = TextRequest(self.model, ROLE, messages, max_retries=MAX_RETRIES)
        reply = self._llm.write(request, task.budget, deadline=task.deadline)
        return Summary(shorten(reply.text, task.max_length), reply.usage)


class LocalSummarizer:
    """One line per turn: the question and the first statement of its answer."""

    model = ""

    def summarize(self, task: SummaryTask) -> Summary:
        lines = [*_split_summary(task.summary), *(_summarize_turn(turn, task.language) for turn in task.turns)]
        return Summary("\n".join(_fit([line for line in lines if line], task.max_length)))


def make_request(task: SummaryTask) -> str:
    turns = [
        {"question": turn.question, "answer": plain_line(turn.answer)[:MAX_PROMPT_ANSWER_LENGTH] or None}
        for turn in task.turns
    ]
    material = to_json({"summary_so_far": task.summary, "turns": turns})
    return load_prompt(f"{task.language}/summary", material=material, max_length=task.max_length)


def shorten(text: str, max_length: int) -> str:
    """One line without marks, cut after the last sentence that fits."""
    line = plain_line(text)
    if len(line) <= max_length:
        return line
    end = max((sentence.end for sentence in sentences(line) if sentence.end <= max_length), default=0)
    return line[:end] if end else truncate(line, max_length)


def _split_summary(summary: str) -> list[str]:
    """The lines of a summary by this class, or the sentences of one that a model wrote."""
    lines = [" ".join(line.split()) for line in summary.splitlines() if line.strip()]
    if len(lines) == 1 and ARROW not in lines[0]:
        return [sentence.text for sentence in sentences(lines[0])]
    return lines


def _summarize_turn(turn: PastTurn, language: Language) -> str:
    question = truncate(" ".join(turn.question.split()), MAX_QUESTION_LENGTH)
    answer = plain_line(turn.answer)
    stated = statements(answer) or [sentence.text for sentence in sentences(answer)]
    shown = truncate(stated[0], MAX_ANSWER_LENGTH) if stated else agent_text(language, "summary_no_answer")
    return f"{question}{ARROW}{shown}"


def _fit(lines: Sequence[str], max_length: int) -> list[str]:
    """Shortens lines until they fit, oldest first, then drops them. The last line is kept, truncated."""
    kept = list(lines)
    for reduce in (_shorten_line, lambda _: ""):
        for index, line in enumerate(kept):
            if _size(kept) <= max_length:
                break
            kept[index] = reduce(line) if index < len(kept) - 1 else truncate(line, max_length)
    return [line for line in kept if line]


def _size(lines: Sequence[str]) -> int:
    lengths = [len(line) for line in lines if line]
    return sum(lengths) + max(0, len(lengths) - 1)


def _shorten_line(line: str) -> str:
    question, arrow, answer = line.partition(ARROW)
    if not arrow:
        return truncate(line, 2 * SHORT_LENGTH)
    return f"{truncate(question, SHORT_LENGTH)}{arrow}{truncate(answer, SHORT_LENGTH)}"
