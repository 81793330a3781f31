"""The summarizer without a model: each turn as its question and the telling first sentence of its answer.

The latest turns are kept best: where room is short, the oldest lose first their answers' wording, then all. The same
turns give the same summary every time, and it is never longer than it may be. Knows nothing about meaning.
"""

from __future__ import annotations

from collections.abc import Sequence

from veracity.agents.summarizer import Summary, SummaryTask, cut
from veracity.agents.unmarked import unmarked
from veracity.grounding.statements import statements
from veracity.language import Language, sentences
from veracity.models import PastTurn

LONGEST_QUESTION = 160  # characters
LONGEST_ANSWER = 240
SHORT = 60  # what is left of an answer where room is short


class LocalSummarizer:
    model = ""

    def summarize(self, task: SummaryTask) -> Summary:
        lines = [*_lines(task.summary), *(_told(turn, task.language) for turn in task.turns)]
        return Summary("\n".join(_fitting([line for line in lines if line], task.longest)))


def _lines(summary: str) -> list[str]:
    """One turn a line, as this writes them; a summary that a model wrote has sentences."""
    lines = [" ".join(line.split()) for line in summary.splitlines() if line.strip()]
    if len(lines) == 1 and " → " not in lines[0]:
        return [sentence.text for sentence in sentences(lines[0])]
    return lines


def _told(turn: PastTurn, language: Language) -> str:
    question = cut(" ".join(turn.question.split()), LONGEST_QUESTION)
    return f"{question} → {_telling(turn.answer) or NO_ANSWER[language]}"


def _telling(answer: str) -> str:
    """Its first sentence that states something."""
    plain = unmarked(answer)
    stated = statements(plain) or [one.text for one in sentences(plain)]
    return cut(stated[0], LONGEST_ANSWER) if stated else ""


def _fitting(lines: Sequence[str], longest: int) -> list[str]:
    """Oldest first: shortened, then gone."""
    kept = list(lines)
    for shorten in (_shorter, lambda _: ""):
        for place, line in enumerate(kept):
            if _size(kept) <= longest:
                break
            kept[place] = shorten(line) if place < len(kept) - 1 else cut(line, longest)
    return [line for line in kept if line]


def _size(lines: Sequence[str]) -> int:
    held = [line for line in lines if line]
    return sum(map(len, held)) + max(0, len(held) - 1)


def _shorter(line: str) -> str:
    question, arrow, answer = line.partition(" → ")
    return f"{cut(question, SHORT)}{arrow}{cut(answer, SHORT)}" if arrow else cut(line, 2 * SHORT)


NO_ANSWER: dict[Language, str] = {"en": "no answer", "zh": "没有回答", "ja": "回答なし"}
