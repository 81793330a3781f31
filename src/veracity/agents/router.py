"""The router that calls a model: where to look for an answer, and the question without the conversation (SPEC D3).

In a conversation it first asks the model for a standalone question, then for the route. Code checks both: the
rewording must ask the same without new names or numbers, the route must be available, and only small talk, arithmetic
and questions about the assistant are answered directly, by code. If the rewording fails the check, the standalone
question is made locally.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence

from pydantic import BaseModel, Field

from veracity.agents.base import Routing, RoutingTask
from veracity.agents.extract.keywords import extract_keywords, find_positions
from veracity.agents.follow_up.dependence import VAGUE_WORDS, polarity
from veracity.agents.follow_up.direct_questions import calculate, is_about_assistant
from veracity.agents.follow_up.explicit_requests import (
    mentions_conversation,
    parse_recall_request,
    parse_turn_request,
    parse_web_request,
)
from veracity.agents.follow_up.small_talk import classify_small_talk, reply_to_small_talk
from veracity.agents.follow_up.standalone import StandaloneQuestion, is_self_contained, make_standalone, resolve_topic
from veracity.agents.prompts import agent_text, load_prompt
from veracity.agents.writer import to_json
from veracity.language import Language, content_tokens, entities, guess_language, normalized, sentences, tokens
from veracity.language.excerpts import plain_line, truncate
from veracity.language.questions import ASKING
from veracity.llm import LLM, Answer, Message, Question, TextRequest
from veracity.locales import section_texts
from veracity.models import NOTHING_USED, PastTurn, Route, Usage, WritableText

ROLE = "router"
MAX_RETRIES = 1  # the run waits for its route
MAX_REASON_LENGTH = 300
MAX_TURNS = 3  # in the prompt
MAX_ANSWER_LENGTH = 250  # characters of each answer in the prompt
MAX_SUMMARY_LENGTH = 600
MAX_QUESTION_LENGTH = 400  # characters of a rewording
MIN_STEM_LENGTH = 4  # letters of a name that may have another ending
MIN_SHARED_WORDS = 0.5  # share of the question's words in a rewording

_QUOTES = ('"', "'", "“", "”", "「", "」", "`", "*")
_LABEL = re.compile(
    r"^[\W_]{0,4}(?:(?:the )?(?:rewritten|stand-?alone|last) question|改写后的问题|改写|最后的问题|問題|書き換えた質問"
    r"|書き直した質問|最後の質問)\W{0,3}[:：]\s*",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_LATIN = re.compile(r"[A-Za-z\u00c0-\u024f][A-Za-z0-9\u00c0-\u024f]*")
_ADJECTIVE_ENDINGS = frozenset(("n", "ns", "an", "ans", "ian", "ians", "ese", "ish", "i", "s"))


class RouteChoice(BaseModel):
    # The reason comes first. No docstring: it would go to the model, and small models repeat it.
    reason: WritableText = Field(
        min_length=1,
        description="why this route, in at most ten words",
        json_schema_extra={"maxLength": MAX_REASON_LENGTH},
    )
    route: Route = Field(description="direct, history, knowledge or web")
    expression: WritableText = Field(default="", description="only for arithmetic, such as 17*23")


class LLMRouter:
    """`instructions` are those for choosing a route; those for rewording are fixed."""

    def __init__(self, llm: LLM, model: str, instructions: str | None = None) -> None:
        self.model = model
        self._llm = llm
        self._instructions = instructions or load_prompt(f"instructions/{ROLE}")

    def route(self, task: RoutingTask) -> Routing:
        if "history" in task.available and parse_turn_request(task.question):
            return Routing("history", "It asks for an earlier answer.", task.question)
        is_small_talk = classify_small_talk(task.question) is not None
        has_history = bool(task.turns or task.summary.strip())
        standalone, usage = StandaloneQuestion(task.question), NOTHING_USED
        if has_history and not is_small_talk:
            standalone, usage = self.make_standalone(task)
        choice = self._choose_route(task, standalone.question)
        usage += choice.usage
        reason = " ".join(choice.value.reason.split())[:MAX_REASON_LENGTH]
        reply = _reply_directly(task.question, choice.value.expression) if choice.value.route == "direct" else ""
        route = _check_route(choice.value.route, task, bool(reply))
        if route != choice.value.route:
            reason = f"{reason} (The route “{choice.value.route}” cannot be taken.)"
        if route == "direct":
            return Routing(route, reason, task.question, reply=reply, states_facts=not is_small_talk, usage=usage)
        standalone, topic = _find_topic(route, standalone, task)
        return Routing(route, reason, standalone.question, standalone.added, topic, usage=usage)

    def make_standalone(self, task: RoutingTask) -> tuple[StandaloneQuestion, Usage]:
        messages = _condense_messages(task)
        request = TextRequest(self.model, ROLE, messages, max_retries=MAX_RETRIES)
        reply = self._llm.write(request, task.budget, deadline=task.deadline)
        question = _parse_condensed(reply.text)
        history = [task.summary, *(text for turn in task.turns for text in (turn.question, turn.answer))]
        if adds_words(question, task.question) and is_faithful(question, task.question, history):
            return StandaloneQuestion(question, (), depends=True), reply.usage
        return make_standalone(task.question, task.turns, task.summary), reply.usage

    def _choose_route(self, task: RoutingTask, question: str) -> Answer[RouteChoice]:
        material = {
            "routes_available": list(dict.fromkeys([*task.available, "knowledge"])),
            **({"typed": task.question} if question != task.question else {}),
            "question": question,
        }
        request = Question(
            model=self.model,
            role=ROLE,
            instructions=self._instructions,
            prompt=load_prompt("requests/router", material=to_json(material)),
            output=RouteChoice,
            max_retries=MAX_RETRIES,
        )
        return self._llm.ask(request, task.budget, deadline=task.deadline)


def is_faithful(reworded: str, question: str, history: Sequence[str]) -> bool:
    """Whether a rewording asks the same.

    It must be in the question's language and not too long, keep its names, numbers and most of its words, add no name
    or number that the conversation lacks, negate and compare in the same way, and state nothing new."""
    language = guess_language(question)
    if not reworded.strip() or len(reworded) > MAX_QUESTION_LENGTH or guess_language(reworded) != language:
        return False
    old, new = normalized(question), normalized(reworded)
    source = normalized("\n".join((question, *history)))
    return (
        all(_contains(new, name) for name in _names_and_numbers(old, language))
        and all(_occurs(name, source) for name in _names_and_numbers(new, language))
        and polarity(new, language) == polarity(old, language)
        and _count_statements(new) <= _count_statements(old)
        and _keeps_words(new, old, language)
    )


def adds_words(reworded: str, question: str) -> bool:
    """Whether a rewording has a keyword that the question lacks."""
    language = guess_language(question)
    wanted = extract_keywords(reworded, language)
    return len(find_positions(wanted, normalized(question), language)) < len(wanted)


def _find_topic(route: Route, standalone: StandaloneQuestion, task: RoutingTask) -> tuple[StandaloneQuestion, str]:
    if route == "history":
        topic = parse_recall_request(task.question)
        return standalone, standalone.question if topic is None else topic
    requested = parse_web_request(task.question)
    if route != "web" or requested is None:
        return standalone, ""
    reworded = parse_web_request(standalone.question)
    topic = reworded if reworded and is_self_contained(reworded) else requested
    return resolve_topic(topic, task.question, task.turns, task.summary)


def _reply_directly(question: str, expression: str) -> str:
    """The reply to small talk, arithmetic or a question about the assistant; empty for anything else."""
    language = guess_language(question)
    if kind := classify_small_talk(question):
        return reply_to_small_talk(kind, language)
    return calculate(question, expression) or (
        agent_text(language, "assistant") if is_about_assistant(question) else ""
    )


def _check_route(route: Route, task: RoutingTask, has_reply: bool) -> Route:
    """The route, or "knowledge" if it cannot be taken."""
    if route == "direct" and not has_reply:
        return "knowledge"
    if route == "history" and not mentions_conversation(task.question):
        return "knowledge"
    return route if route in task.available else "knowledge"


def _condense_messages(task: RoutingTask) -> tuple[Message, Message]:
    """In the question's language. Texts by others are JSON strings on lines of their own, so that none can end its
    string and pass for another speaker."""
    language = guess_language(task.question)
    texts = section_texts(language, "agents")
    lines = []
    if task.summary.strip():
        lines.append(f"{texts['speaker_summary']}: {_quote(truncate(task.summary, MAX_SUMMARY_LENGTH))}")
    for turn in task.turns[-MAX_TURNS:]:
        lines += _quote_turn(turn, texts)
    request = load_prompt(f"{language}/condense_request", conversation="\n".join(lines), question=_quote(task.question))
    return Message("system", load_prompt(f"{language}/condense")), Message("user", request)


def _quote_turn(turn: PastTurn, texts: dict[str, str]) -> Iterator[str]:
    yield f"{texts['speaker_user']}: {_quote(turn.question)}"
    if answer := plain_line(turn.answer):
        yield f"{texts['speaker_assistant']}: {_quote(truncate(answer, MAX_ANSWER_LENGTH))}"


def _parse_condensed(reply: str) -> str:
    """The first line, without label and quotes."""
    first = next((line.strip() for line in reply.splitlines() if line.strip()), "")
    bare = _LABEL.sub("", first).strip()
    return " ".join((_unquote(bare) if bare[:1] in _QUOTES else bare).split())


def _quote(text: str) -> str:
    return json.dumps(" ".join(text.split()), ensure_ascii=False)


def _unquote(text: str) -> str:
    try:
        value = json.loads(text)
    except ValueError:
        value = None
    return value if isinstance(value, str) else text.strip("".join(_QUOTES) + " ")


def _names_and_numbers(plain: str, language: Language) -> Iterator[str]:
    """Numbers; Latin words with a capital or a digit that do not begin a sentence; names in other scripts."""
    yield from _NUMBER.findall(plain)
    starts = {sentence.start for sentence in sentences(plain)}
    for word in _LATIN.finditer(plain):
        is_first = word.start() in starts or plain[max(0, word.start() - 1) : word.start()] in ('"', "(", "“")
        if not is_first and content_tokens(word[0], "en") and (word[0] != word[0].lower()):
            yield word[0]
    if language != "en":
        yield from (name for name in entities(plain, language) if not name.isascii())


def _contains(plain: str, name: str) -> bool:
    """Numbers and Latin words must be separate; Chinese and Japanese do not separate words."""
    if name.isascii():
        return re.search(rf"(?<![a-z0-9]){re.escape(name.lower())}(?:'?s)?(?![a-z0-9])", plain.lower()) is not None
    return name.lower() in plain.lower()


def _occurs(name: str, source: str) -> bool:
    """Whether the source has the name or its parts: 東京 and 支社 cover 東京支社, Nigeria covers Nigerian."""
    if _contains(source, name):
        return True
    if name.isascii():
        return any(_is_inflected(name.lower(), word) for word in set(_LATIN.findall(source.lower())))
    while len(name) > 1:
        size = next((size for size in range(len(name), 1, -1) if name[:size] in source), 0)
        if not size:
            return False
        name = name[size:]
    return not name or name in source


def _is_inflected(name: str, word: str) -> bool:
    """Whether one of them is the other with an adjective's ending."""
    shorter, longer = sorted((name, word), key=len)
    ending = longer.removeprefix(shorter)
    return len(shorter) >= MIN_STEM_LENGTH and longer == shorter + ending and ending in _ADJECTIVE_ENDINGS


def _count_statements(plain: str) -> int:
    """The sentences that are no questions."""
    return sum(not sentence.text.endswith("?") and not ASKING.search(sentence.text) for sentence in sentences(plain))


def _keeps_words(new: str, old: str, language: Language) -> bool:
    """Compares keywords or, if the question has none ("Tell me more"), all words."""
    wanted = extract_keywords(VAGUE_WORDS[language].sub(" ", old), language)
    if not wanted:
        old_words, new_words = set(tokens(old, language)), set(tokens(new, language))
        return not old_words or len(old_words & new_words) >= MIN_SHARED_WORDS * len(old_words)
    return len(find_positions(wanted, new, language)) >= MIN_SHARED_WORDS * len(wanted)
