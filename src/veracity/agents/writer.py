"""The writer that calls a model, and the messages it is sent (SPEC A10).

A draft cites the n-th evidence with [n]. The writer sends its messages unchanged and only decides whether the reply is
a draft or an abstention; the reviewer judges the draft.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from veracity.agents.base import WriterOutput, WritingTask
from veracity.agents.missing import find_missing, may_be_published
from veracity.agents.prompts import agent_text, load_prompt
from veracity.errors import ModelAnswerError
from veracity.grounding.statements import NO_INFORMATION, statements
from veracity.language import Language, guess_language
from veracity.language.citations import without_marks
from veracity.llm import LLM, Message, OnText, Piece, TextRequest
from veracity.models import NOTHING_USED, AnswerForm, Evidence, Usage
from veracity.patterns import lazy_pattern

ROLE = "writer"
MAX_DRAFT_LENGTH = 20_000  # characters; reviewing more would take longer than a run may
MIN_OPENING_LENGTH, MAX_OPENING_LENGTH = 32, 160  # characters in which an abstention shows

# The whole reply in a code fence.
_FENCED = lazy_pattern(r"\A```\w*[ \t]*\n(.*?)\n?```\Z", re.DOTALL)
# No prompt asks for it: a small model that reads it in its instructions repeats it whatever the evidence says. Models
# write it anyway. Punctuation must follow: "No answer came from the supplier [1]." is a statement.
_NO_ANSWER = lazy_pattern(
    r"[\s*_#>`\"“'\-]{0,10}(?:NO[ _-]?ANSWER|无答案|没有答案|無回答|回答なし|答えなし)[*_`\"”']{0,4}\s{0,3}"
    r"(?:[:：.。—–-]+|(?=\n)|\Z)[*_`]{0,4}",
    re.IGNORECASE,
)
_DECLINES = lazy_pattern(
    r"\b(?:cannot|can't|could not|couldn't|(?:un|not )able to) (?:be )?(?:answer|determin|find|found|tell|say|confirm)"
    r"|^(?:(?:i'm|i am|we are) )?sorry\b|\b(?:do not|don't) know\b"
    r"|无法(?:回答|确定|得知|判断|找到)|不知道|抱歉|(?:お答え|回答|判断|確認|特定)(?:することが|は)?(?:でき(?:ません|ない)|しかね)"
    r"|[分わ]かりません|申し訳",
    re.IGNORECASE,
)
_DIGITS = lazy_pattern(r"\d+")
_MARK_START = lazy_pattern(r"[\[［【]\d")
_MAY_DECLINE = lazy_pattern(
    r"document|context|source|text|evidence|passage|material|excerpt|article|record|information|sorry|know"
    r"|\b(?:not|no|cannot)\b|n't\b|able"
    r"|资料|文档|文件|证据|上下文|材料|原文|来源|文中|无|没|未|不|抱歉|資料|文書|根拠|文脈|本文|ドキュメント|出典|ない|ません|申し訳",
    re.IGNORECASE,
)
# An abstention in the middle of an answer: it concerns a part of the question.
_PARTIAL_ABSTENTION = lazy_pattern(r"\bNO ANSWER[*_]{0,2}[:：][*_]{0,2}\s*")


def opening_messages(question: str, language: Language, instructions: str | None = None) -> list[Message]:
    """The first messages of a run. They never contain text of a document."""
    rules = load_prompt(f"{language}/writer")
    instructions = (instructions or load_prompt(f"instructions/{ROLE}")).strip()
    return [Message("system", f"{instructions}\n\n{rules}"), Message("user", question)]


def evidence_message(
    question: str, evidence: Sequence[Evidence], background: dict[str, Any] | None = None, quotes: str = ""
) -> Message:
    """The message before the first draft of an attempt.

    Repeats the question after the evidence, where models heed it best. `background` is what led to this attempt: the
    conversation, and a rejected answer with the reason. `quotes` are sentences of the evidence that probably answer."""
    material = to_json(_material(question, evidence, background) | ({"quotes": quotes} if quotes else {}))
    request = "writer_quotes" if quotes else "writer_evidence"
    return Message("user", load_prompt(f"{guess_language(question)}/{request}", material=material))


def feedback_message(
    question: str,
    evidence: Sequence[Evidence],
    last_answer: str,
    suggestions: Sequence[str],
    background: dict[str, Any] | None = None,
    notes: Sequence[str] = (),
) -> Message:
    """The message before a redraft, instead of the evidence message. It begins as that does, for the prompt caches of
    providers. It does not repeat how to abstain, or weak models would rather abstain. `notes` are by people who sent
    drafts back. They may ask for any change, suggestions only correct what is wrong."""
    review = {"last_answer": last_answer, **({"notes": list(notes)} if notes else {}), "suggestions": list(suggestions)}
    material = to_json({**_material(question, evidence, background), **review})
    request = "writer_sent_back" if notes else "writer_feedback"
    return Message("user", load_prompt(f"{guess_language(question)}/{request}", material=material))


def _material(question: str, evidence: Sequence[Evidence], background: dict[str, Any] | None) -> dict[str, Any]:
    return {"evidence": number_evidence(evidence), **(background or {}), "question": question}


def number_evidence(evidence: Sequence[Evidence], shorten: Callable[[str], str] = str) -> dict[str, dict[str, str]]:
    """Evidence by its mark, with title and headings: a text on annual leave need not say which office it is about."""
    return {
        f"[{number}]": {"from": " › ".join(dict.fromkeys((item.title, *item.headings))), "text": shorten(item.text)}
        for number, item in enumerate(evidence, 1)
    }


def to_json(material: dict[str, Any]) -> str:
    """Texts by others go to models as JSON: no text can end its own string and pass for part of the prompt."""
    return json.dumps(material, ensure_ascii=False, indent=1)


class LLMWriter:
    form: AnswerForm = "written"

    def __init__(self, llm: LLM, model: str) -> None:
        self.model = model
        self._llm = llm

    def write(self, task: WritingTask) -> WriterOutput:
        request = TextRequest(self.model, ROLE, tuple(task.messages))
        buffer = _OpeningBuffer(task.on_text, task.question) if task.on_text is not None else None
        on_text = buffer.receive if buffer else None
        reply = self._llm.write(request, budget=task.budget, deadline=task.deadline, on_text=on_text)
        if buffer:
            buffer.flush()
        if len(reply.text) > MAX_DRAFT_LENGTH:
            raise ModelAnswerError(
                f'The draft of "{self.model}" has {len(reply.text):,} characters, and at most {MAX_DRAFT_LENGTH:,} are '
                "reviewed: ask for less, or use another model."
            )
        output = parse_reply(reply.text, task.question, reply.usage)
        return replace(output, missing=tuple(part for part in output.missing if may_be_published(part, task.question)))


class _OpeningBuffer:
    """Holds back a text as long as it may be an abstention, which must not be shown as a draft."""

    def __init__(self, on_text: OnText, question: str) -> None:
        self._on_text = on_text
        self._question = question
        self._held: str | None = ""  # None once it is a draft

    def receive(self, piece: Piece) -> None:
        if piece.begins:
            self._held = ""
        if self._held is None:
            self._on_text(Piece(piece.text))
            return
        self._held += piece.text
        if self._is_long_enough(self._held):
            self.flush()

    def flush(self) -> None:
        """Send the text that was held back, unless it is an abstention."""
        if self._held and not parse_reply(self._held, self._question).abstains:
            self._on_text(Piece(self._held, begins=True))
            self._held = None

    def _is_long_enough(self, held: str) -> bool:
        """A citation, or the first words without any that an abstention has."""
        length = len(held.lstrip())
        if length > MAX_OPENING_LENGTH or (length > MIN_OPENING_LENGTH and _MARK_START.search(held)):
            return True
        return length > MIN_OPENING_LENGTH and not _MAY_DECLINE.search(held)


def parse_reply(text: str, question: str, usage: Usage = NOTHING_USED) -> WriterOutput:
    """A draft, or an abstention: a reply that states nothing except that there is no answer."""
    language = guess_language(question)
    reply = _FENCED.sub(r"\1", text.strip()).strip()
    if match := _NO_ANSWER.match(reply):
        reason = reply[match.end() :].strip(" \t\r\n*_`")
    elif _only_declines(reply, question):
        reason = reply
    else:
        return WriterOutput(_PARTIAL_ABSTENTION.sub(agent_text(language, "partial_abstention"), reply), usage=usage)
    # Models repeat "[n]" and "…" from the prompt.
    reason = without_marks(reason).removesuffix("[n]").rstrip("… \n") or agent_text(language, "abstention")
    return WriterOutput(reason, abstains=True, missing=find_missing(reason), usage=usage)


def _only_declines(reply: str, question: str) -> bool:
    """Whether it states nothing except that there is no answer. A citation states something, and so does a number that
    the question lacks."""
    stated, numbers = statements(reply), set(_DIGITS.findall(question))
    declining = [
        sentence
        for sentence in stated
        if numbers.issuperset(_DIGITS.findall(sentence))
        and (_DECLINES.search(sentence) or NO_INFORMATION.search(sentence))
    ]
    return stated == declining and bool(declining or NO_INFORMATION.search(without_marks(reply)))
