"""Are all parts of the question addressed? Compared by words: the part's own, and those of the kind it asks for.

An answer need not repeat the question: words of the passages that support it count, too. A name in the question must
occur in the answer or in its evidence, above all in the title: Dublin's rule is no answer for Osaka. Whether the answer
is right is not checked.

An answer or evidence in another language than the question shares no words with it: its meaning is compared instead,
and of the question's names only those in Latin letters with Latin text.
"""

from collections.abc import Iterator, Sequence
from math import exp

from veracity.evaluator.metrics.base import BaseMetric
from veracity.grounding.statements import index_evidence, list_findings, statements
from veracity.grounding.support import Support
from veracity.language import content_tokens, guess_language, possible_languages, sentences
from veracity.language.citations import without_marks
from veracity.language.names import Name, names_in, other_names
from veracity.language.questions import kind_asked_for, kinds_answered, parts_addressed, question_parts
from veracity.locales import section_texts
from veracity.models import EvaluationRequest, MetricScore

# Chosen so that few right answers but many irrelevant ones stay below the approval threshold
# (`python -m benchmarks.gate`): every word of the question counts, the kind it asks for three tenths.
ENOUGH = 1.0
KIND_SHARE = 0.3
# Logistic curve of the similarity of a question to a sentence in another language: the best threshold between those
# that answer it and others scores 0.75 (`python -m benchmarks.grounding_across`).
ANSWER_BIAS, ANSWER_SLOPE = -2.5, 11.4
MAX_COMPARED = 50  # sentences and quotes in another language
MAX_OTHER_SUBJECT = 0.25  # for an answer about another subject: with the default weights it does not pass
MAX_HEADING = 300  # characters of a first line that holds title and headings
SENTENCE_ENDS = tuple(".!?。！？,，、;；")


class QuestionCoverage(BaseMetric):
    """Are all parts of the question addressed? Compared by words, by a local check."""

    def evaluate(self, request: EvaluationRequest) -> MetricScore:
        texts = section_texts(guess_language(request.submission), "metrics")
        parts = question_parts(request.user_query)
        if not parts:
            return self.score(0, texts["empty_question"])
        answer = _statements_only(request.submission)
        supported = list(_supported_statements(request))
        tokens = set(content_tokens("\n".join((answer, *(support.quote for _, support in supported)))))
        kinds = kinds_answered(answer)
        shares = parts_addressed(parts, tokens, kinds, ENOUGH, KIND_SHARE)
        asked = names_in(request.user_query)
        if foreign := _foreign_texts(request, answer, supported):
            shares = {part: max(share, _meaning_share(part, foreign, kinds)) for part, share in shares.items()}
            asked = [name for name in asked if name.text.isascii() and all(map(_is_latin, foreign))]
        comment = _describe(shares, texts)
        share = sum(shares.values()) / len(shares)
        if lacking := _lacking_names(asked, answer, supported, request.context):
            names = list_findings([f"“{name.text}”" for name in lacking], texts["separator"])
            comment += texts["other_subject"].format(names=names, most=f"{100 * MAX_OTHER_SUBJECT:g}")
            share = min(share, MAX_OTHER_SUBJECT)
        return self.score(100 * share, comment)


def _foreign_texts(request: EvaluationRequest, answer: str, supported: Sequence[tuple[str, Support]]) -> list[str]:
    """The sentences of the answer and the supporting quotes that are in another language than the question.

    Decided by the whole answer and the whole document, because the language of a few words is uncertain.
    """
    own = possible_languages(request.user_query)
    stated = [sentence.text for sentence in sentences(answer)] if own.isdisjoint(possible_languages(answer)) else []
    sources = {support.source for _, support in supported}
    foreign = {source for source in sources if own.isdisjoint(possible_languages(request.context[source]))}
    quotes = [support.quote for _, support in supported if support.source in foreign]
    return list(dict.fromkeys((*stated, *quotes)))[:MAX_COMPARED]


def _meaning_share(part: str, foreign: Sequence[str], kinds: set[str]) -> float:
    """How far a part is addressed, from 0 to 1, by the text most similar in meaning and the kind it asks for."""
    from veracity.grounding.translation import similarity  # noqa: PLC0415 - loads the embedding model

    nearest = max(similarity(part, text) for text in foreign)
    share = 1 / (1 + exp(-(ANSWER_BIAS + ANSWER_SLOPE * nearest)))
    asked = kind_asked_for(part)
    return share if asked is None else KIND_SHARE * (asked in kinds) + (1 - KIND_SHARE) * share


def _is_latin(text: str) -> bool:
    return guess_language(text) == "en"


def _describe(shares: dict[str, float], texts: dict[str, str]) -> str:
    """The parts that are addressed, in part with their shares, and not at all."""
    partly = [
        texts["addressed_share"].format(part=part, percent=f"{100 * share:.3g}")
        for part, share in shares.items()
        if 0 < share < 1
    ]
    missed = [f"“{part}”" for part, share in shares.items() if not share]
    addressed = len(shares) - len(partly) - len(missed)
    comment = texts["addressed_count"].format(addressed=addressed, total=len(shares))
    if partly:
        comment += texts["partly_addressed"].format(parts=list_findings(partly, texts["separator"]))
    if missed:
        comment += texts["not_addressed"].format(missed=list_findings(missed, texts["separator"]))
    return comment


def _statements_only(submission: str) -> str:
    """Without questions and citation marks: the [1] of a citation is not an amount."""
    stated = (without_marks(sentence.text).strip() for sentence in sentences(submission))
    return "\n".join(text for text in stated if not text.endswith(("?", "？")))


def _supported_statements(request: EvaluationRequest) -> Iterator[tuple[str, Support]]:
    """The submission's statements with the passages that support them."""
    if any(text.strip() for text in request.context):
        evidence = index_evidence(tuple(request.context))
        supports = ((sentence, evidence.support(sentence)) for sentence in statements(request.submission))
        yield from ((sentence, support) for sentence, support in supports if support.supported)


def _lacking_names(
    asked: list[Name], answer: str, supported: Sequence[tuple[str, Support]], context: Sequence[str]
) -> list[Name]:
    """Names of the question that neither the answer nor its supporting documents mention; all of them if a statement
    relies on a passage under another heading without saying so."""
    if not asked or not supported:
        return []
    relied_on = [context[source] for source in dict.fromkeys(support.source for _, support in supported)]
    titles = {_title(text) for text in relied_on} - {""}
    texts = dict.fromkeys([answer, *relied_on, *(text for text in context if _title(text) in titles)])
    lacking = [name for name in asked if not any(name.is_mentioned_in(text) for text in texts)]
    others = {text: _other_subjects(text, asked) for text in relied_on}
    if not lacking and any(
        _is_off_topic(sentence, others[context[support.source]], asked) for sentence, support in supported
    ):
        return asked
    return lacking


def _other_subjects(text: str, asked: list[Name]) -> list[Name]:
    """The names in the heading of a text that mentions none of those asked about."""
    return [] if any(name.is_mentioned_in(text) for name in asked) else other_names(_heading(text), asked)


def _is_off_topic(sentence: str, others: list[Name], asked: list[Name]) -> bool:
    """Whether the sentence, from a text about `others`, names neither them nor what was asked about."""
    return bool(others) and not any(name.is_mentioned_in(sentence) for name in (*asked, *others))


def _heading(text: str) -> str:
    """The first line of a text if it holds title and headings."""
    first, _, rest = text.partition("\n")
    return first if rest.strip() and len(first) <= MAX_HEADING and not first.rstrip().endswith(SENTENCE_ENDS) else ""


def _title(text: str) -> str:
    return _heading(text).split(" › ")[0]
