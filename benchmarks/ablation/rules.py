"""The language rules of the product, and what replaces each while it is switched off.

A rule that implements a requirement of the specification and has no data to measure is listed with the requirement.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from benchmarks.ablation.switches import count_lines, find
from veracity.language import guess_language
from veracity.language.words import ENGLISH

LANGUAGES = ("en", "zh", "ja")
NEVER = re.compile("(?!)")
NEVER_IN_ANY = dict.fromkeys(LANGUAGES, NEVER)

FOLLOW_UPS = ("conversation", "recognition")
ANSWERS = ("answers", "handbook", "real_documents")
CHECKS = ("wice", "contrasts", "gate", "real_documents")
REWRITES = ("poor_queries", "short_queries", "spelling")


@dataclass(frozen=True)
class Rule:
    """`sources` are its definitions, as in `switches`; `off` maps what is replaced to the replacement."""

    name: str
    sources: tuple[str, ...]
    measures: tuple[str, ...] = ()
    off: Mapping[str, object] = field(default_factory=dict)
    languages: tuple[str, ...] = LANGUAGES
    required: str = ""

    @property
    def lines(self) -> int:
        return sum(map(count_lines, self.sources))

    @property
    def file(self) -> str:
        return self.sources[0].partition(":")[0] + ".py"


def always(value: object) -> Callable[..., object]:
    return lambda *_args, **_options: value


def pattern(name: str, source: str, measures: tuple[str, ...], languages: tuple[str, ...] = LANGUAGES) -> Rule:
    """A rule that is one pattern, or one for each language."""
    off = NEVER_IN_ANY if isinstance(find(source), dict) else NEVER
    return Rule(name, (source,), measures, {source: off}, languages)


# --- follow-up questions --------------------------------------------------------------------------------------------

_DEPENDENCE = "agents/follow_up/dependence"
_REPLACEMENT = "agents/follow_up/replacement"


def _unchanged(question: str, *_rest: object, **_options: object) -> object:
    return find("agents/follow_up/standalone:StandaloneQuestion")(question)


FOLLOW_UP_RULES = (
    Rule(
        "follow-up questions, all rules",
        ("agents/follow_up/standalone", _DEPENDENCE, _REPLACEMENT, "agents/follow_up/bounds"),
        FOLLOW_UPS,
        {"agents/follow_up/standalone:make_standalone": _unchanged},
        required="D3",
    ),
    Rule(
        "the same question about another subject",
        (f"{_DEPENDENCE}:PARALLEL", f"{_DEPENDENCE}:_names_a_thing", f"{_DEPENDENCE}:CLAUSE", _REPLACEMENT),
        FOLLOW_UPS,
        {f"{_DEPENDENCE}:PARALLEL": dict.fromkeys(LANGUAGES, ())},
        required="D3",
    ),
    Rule(
        "replaced subject",
        (_REPLACEMENT,),
        FOLLOW_UPS,
        {f"{_REPLACEMENT}:replace_subject": always(None)},
        required="D3",
    ),
    Rule(
        "replaced bound",
        ("agents/follow_up/bounds",),
        FOLLOW_UPS,
        {"agents/follow_up/bounds:replace_bound": always(None)},
        required="D3",
    ),
    Rule(
        "aspect of the topic",
        (f"{_REPLACEMENT}:ask_about_aspect", f"{_REPLACEMENT}:ASPECT", f"{_REPLACEMENT}:TOPIC"),
        FOLLOW_UPS,
        {f"{_REPLACEMENT}:ask_about_aspect": always(None)},
        required="D3",  # Japanese: no data
    ),
    Rule(
        "references back",
        tuple(
            f"{_DEPENDENCE}:{name}"
            for name in ("_refers_back", "REFERENCES", "NOT_REFERRING", "_has_antecedent", "POSSESSIVE", "PERSONAL")
        ),
        FOLLOW_UPS,
        {f"{_DEPENDENCE}:_refers_back": always(False)},
    ),
    pattern("phrases that do not refer back", f"{_DEPENDENCE}:NOT_REFERRING", FOLLOW_UPS),
    Rule(
        "antecedents in the question itself",
        tuple(f"{_DEPENDENCE}:{name}" for name in ("_has_antecedent", "POSSESSIVE", "PERSONAL", "CLAUSE_ENDS")),
        FOLLOW_UPS,
        {f"{_DEPENDENCE}:_has_antecedent": always(False)},
    ),
    pattern("words that ask for more", f"{_DEPENDENCE}:VAGUE_WORDS", FOLLOW_UPS),
    pattern("words that are no subject", f"{_DEPENDENCE}:FILLER_WORDS", FOLLOW_UPS),
    pattern("thanks before a question", f"{_DEPENDENCE}:LEADING_THANKS", FOLLOW_UPS),
    Rule(
        "short questions without a name",
        tuple(
            f"{_DEPENDENCE}:{name}"
            for name in ("_is_thin_english", "_is_thin_chinese", "_is_thin_japanese", "PREDICATE_ALONE", "DEFINITE")
        ),
        FOLLOW_UPS,
        {f"{_DEPENDENCE}:IS_THIN": dict.fromkeys(LANGUAGES, always(False))},
    ),
    Rule(
        "polarity",
        tuple(f"{_DEPENDENCE}:{name}" for name in ("polarity", "_is_negative", "POLARITY", "NOT_POLAR")),
        FOLLOW_UPS,
        {f"{_DEPENDENCE}:polarity": always(Counter())},
        required="D3",  # a rewording by a model must not ask the opposite
    ),
    Rule(
        "names before other subjects",
        (f"{_DEPENDENCE}:looks_like_name",),
        FOLLOW_UPS,
        {f"{_DEPENDENCE}:looks_like_name": always(False)},
    ),
    Rule(
        "words added from earlier turns",
        ("agents/follow_up/standalone:_choose_added",),
        FOLLOW_UPS,
        {"agents/follow_up/standalone:_choose_added": always(())},
    ),
    Rule("requests for earlier answers and the web", ("agents/follow_up/explicit_requests",), required="D3, D4"),
    Rule("small talk", ("agents/follow_up/small_talk",), required="D3"),
    Rule("arithmetic and the assistant itself", ("agents/follow_up/direct_questions",), required="D3"),
)

# --- the extractive answer ------------------------------------------------------------------------------------------

_TYPES = "agents/extract/answer_types"
_KEYWORDS = "agents/extract/keywords"
_ANSWERABILITY = "agents/extract/answerability"
_WRITER = "agents/extractive_writer"
_QUOTES = "agents/extract/quotes"


class _Everything:
    def __contains__(self, _: object) -> bool:
        return True


def _without_kind(kind: str) -> Callable[[str], str]:
    expected_kind = find(f"{_TYPES}:expected_kind")
    return lambda question: "thing" if (found := expected_kind(question)) == kind else found


def _without_signal(signal: str) -> dict[str, Any]:
    curves = find(f"{_ANSWERABILITY}:WORDS_ONLY").items()
    return {
        f"{_ANSWERABILITY}:WITH_MEANING": find(f"{_ANSWERABILITY}:WITH_MEANING")._replace(**{signal: 0.0}),
        f"{_ANSWERABILITY}:WORDS_ONLY": {language: curve._replace(**{signal: 0.0}) for language, curve in curves},
    }


def _whole_word(key: str) -> re.Pattern[str]:
    return re.compile(re.escape(key))


def _function(name: str, source: str, value: object, languages: tuple[str, ...] = LANGUAGES) -> Rule:
    return Rule(name, (source,), ANSWERS, {source: always(value)}, languages)


ANSWER_RULES = (
    Rule("expected answer types", (_TYPES,), ANSWERS, {f"{_TYPES}:expected_kind": always("thing")}),
    Rule(
        "answer types: dates",
        (f"{_TYPES}:_dates", f"{_TYPES}:ENGLISH_DATE", f"{_TYPES}:HAN_DATE"),
        ANSWERS,
        {f"{_TYPES}:expected_kind": _without_kind("date")},
    ),
    Rule(
        "answer types: amounts",
        (f"{_TYPES}:_amounts", f"{_TYPES}:NUMBER", f"{_TYPES}:UNITS", f"{_TYPES}:MEASURE"),
        ANSWERS,
        {f"{_TYPES}:expected_kind": _without_kind("amount")},
    ),
    Rule(
        "answer types: persons",
        tuple(f"{_TYPES}:{name}" for name in ("JAPANESE_PERSON", "SURNAMES", "NAME_SEPARATOR", "PERSON_TAGS")),
        ANSWERS,
        {f"{_TYPES}:expected_kind": _without_kind("person")},
    ),
    Rule(
        "answer types: places",
        (f"{_TYPES}:JAPANESE_PLACE", f"{_TYPES}:PLACE_TAGS"),
        ANSWERS,
        {f"{_TYPES}:expected_kind": _without_kind("place")},
    ),
    Rule("units of amounts", (f"{_TYPES}:UNITS",), ANSWERS, {f"{_TYPES}:UNITS": ()}),
    pattern("values without a unit", f"{_TYPES}:VALUE", ANSWERS, ("zh", "ja")),
    Rule("surnames", (f"{_TYPES}:SURNAMES",), ANSWERS, {f"{_TYPES}:SURNAMES": _Everything()}, ("zh",)),
    pattern("nouns that name the kind", f"{_TYPES}:KIND_NAMES", (*ANSWERS, *FOLLOW_UPS)),
    Rule(
        "single characters joined",
        (f"{_KEYWORDS}:_join_single_characters",),
        ANSWERS,
        {f"{_KEYWORDS}:_join_single_characters": iter},
        ("zh",),
    ),
    _function("single characters that are nouns", f"{_KEYWORDS}:_is_single_noun", False, ("zh", "ja")),
    Rule(
        "Chinese abbreviations",
        (f"{_KEYWORDS}:_chinese_pattern",),
        ANSWERS,
        {f"{_KEYWORDS}:_chinese_pattern": _whole_word},
        ("zh",),
    ),
    Rule(
        "Japanese questions without kana",
        ("agents/extract/candidates:detect_language", "agents/extract/candidates:ONLY_CHINESE"),
        ANSWERS,
        {"agents/extract/candidates:detect_language": lambda question, _evidence: guess_language(question)},
        ("zh", "ja"),
    ),
    Rule(
        "other subjects",
        tuple(f"{_ANSWERABILITY}:{name}" for name in ("find_other_subjects", "keep_right_subject", "_has_name")),
        (*ANSWERS, "gate"),
        {f"{_ANSWERABILITY}:find_other_subjects": always({})},
        required="A6",  # Dublin's rule is no answer for Osaka
    ),
    Rule(
        "subject mismatch",
        (f"{_ANSWERABILITY}:_subject_mismatch",),
        ANSWERS,
        {f"{_ANSWERABILITY}:_subject_mismatch": always(0.0)},
        required="X2",  # the leave of full-time staff is no answer for part-time staff
    ),
    _function("topic of the document", f"{_ANSWERABILITY}:_topic_match", 0.0),
    Rule("agreement of documents", (), ANSWERS, _without_signal("agreement")),
    _function("sentences that contradict each other", f"{_WRITER}:_contradict", False),
    _function("sentences that repeat each other", f"{_WRITER}:_repeats", False),
    _function("other entries of a list", f"{_WRITER}:_is_alternative", False),
    _function("words of the question in a clear answer", f"{_WRITER}:_Reading._covers", True),
    pattern("sentence before a reference", f"{_QUOTES}:_REFERS_BACK", ANSWERS),
    Rule(
        "keys of JSON and CSV",
        (f"{_QUOTES}:_KEY_PATH", f"{_QUOTES}:_KEY_OF_SENTENCE"),
        ANSWERS,
        {f"{_QUOTES}:_KEY_PATH": NEVER, f"{_QUOTES}:_KEY_OF_SENTENCE": NEVER},
    ),
)

# --- names and parts of questions -----------------------------------------------------------------------------------

_NAMES = "language/names"
_QUESTIONS = "language/questions"
_WITH_NAMES = (*ANSWERS, "gate", "across")


def _all_terms(parts: list[str]) -> dict[str, set[str]]:
    return {part: find(f"{_QUESTIONS}:terms_of")(part) for part in parts}


LANGUAGE_RULES = (
    Rule("names, all rules", (_NAMES,), _WITH_NAMES, {f"{_NAMES}:names_in": always([])}, required="A6"),
    Rule(
        "peoples and countries",
        (f"{_NAMES}:PEOPLES", f"{_NAMES}:_PEOPLES"),
        _WITH_NAMES,
        {f"{_NAMES}:PEOPLES": frozenset()},
    ),
    Rule(
        "names with another ending",
        (f"{_NAMES}:_are_alike",),
        _WITH_NAMES,
        {f"{_NAMES}:_are_alike": lambda first, second: first == second},
    ),
    Rule(
        "initials",
        (f"{_NAMES}:Name._by_initials", f"{_NAMES}:INITIALS"),
        _WITH_NAMES,
        {f"{_NAMES}:Name._by_initials": always(False)},
    ),
    pattern("places in katakana", f"{_NAMES}:KATAKANA_PLACE", _WITH_NAMES, ("zh", "ja")),
    Rule(
        "places in Han characters",
        tuple(f"{_NAMES}:{name}" for name in ("_han_names", "_core", "PLACE_TAGS", "WORKPLACE")),
        _WITH_NAMES,
        {f"{_NAMES}:_han_names": always(())},
        ("zh", "ja"),
    ),
    Rule("capitalised words that are no names", (f"{_NAMES}:_NO_NAMES",), _WITH_NAMES, {f"{_NAMES}:NO_NAMES": ENGLISH}),
    pattern("parts of a question", f"{_QUESTIONS}:JOINT", (*ANSWERS, "gate")),
    Rule(
        "kinds asked for and answered",
        tuple(f"{_QUESTIONS}:{name}" for name in ("ASKED", "ANSWERS", "kind_asked_for", "kinds_answered")),
        ("gate", "real_documents"),
        {f"{_QUESTIONS}:kind_asked_for": always(None)},
    ),
    Rule(
        "words that only one part has",
        (f"{_QUESTIONS}:_own_terms",),
        ("gate", "real_documents"),
        {f"{_QUESTIONS}:_own_terms": _all_terms},
    ),
    Rule("names and terms that link passages", ("language/entities",), required="C3"),
)

# --- grounding ------------------------------------------------------------------------------------------------------

_CLAIMS = "grounding/claims"
_QUANTITIES = "grounding/quantities"
_STATEMENTS = "grounding/statements"
_TRANSLATION = "grounding/translation"
_SCRIPTS = "grounding/transliteration"


class _NoUnits:
    def get(self, _unit: str, default: object = None) -> object:
        return default

    def __getitem__(self, _unit: str) -> tuple[str, Decimal]:
        return "", Decimal(1)


def _without_forms(*names: str) -> Callable[[bool, bool], tuple[Any, ...]]:
    forms, removed = find(f"{_QUANTITIES}:_forms"), {id(find(f"{_QUANTITIES}:{name}")) for name in names}
    return lambda has_digits, is_ascii: tuple(
        form for form in forms(has_digits, is_ascii) if id(form[0]) not in removed
    )


def _numbers(name: str, patterns: tuple[str, ...], readers: tuple[str, ...]) -> Rule:
    sources = tuple(f"{_QUANTITIES}:{source}" for source in (*patterns, *readers))
    off = {f"{_QUANTITIES}:_forms": _without_forms(*patterns)}
    return Rule(f"quantities: {name}", sources, (*CHECKS, "across"), off)


GROUNDING_RULES = (
    Rule(
        "opposites",
        tuple(f"{_CLAIMS}:{name}" for name in ("_PAIRS", "_sides", "side_of", "find_sides")),
        CHECKS,
        {f"{_CLAIMS}:side_of": always(None), f"{_CLAIMS}:find_sides": always([])},
    ),
    Rule(
        "negation",
        tuple(f"{_CLAIMS}:{name}" for name in ("_NEGATION", "_negated_spans", "_reach_ahead", "_polarity")),
        CHECKS,
        {f"{_CLAIMS}:_negated_spans": always(())},
    ),
    Rule(
        "negation across languages",
        tuple(f"{_CLAIMS}:{name}" for name in ("find_negation", "_NO_NEGATION", "_NEGATIONS", "_OTHER_NEGATION")),
        ("across",),
        {f"{_CLAIMS}:find_negation": always("")},
    ),
    Rule(
        "words in katakana as a whole",
        (f"{_CLAIMS}:_katakana_words", f"{_CLAIMS}:_KATAKANA_RUN"),
        CHECKS,
        {f"{_CLAIMS}:_KATAKANA_RUN": NEVER},
        ("ja",),
    ),
    Rule("quantities, all rules", (_QUANTITIES,), (*CHECKS, "across"), {f"{_QUANTITIES}:quantities": always(())}),
    Rule(
        "quantities: units", (f"{_QUANTITIES}:_UNIT_TABLE",), (*CHECKS, "across"), {f"{_QUANTITIES}:UNITS": _NoUnits()}
    ),
    Rule(
        "quantities: the noun that is counted",
        (f"{_QUANTITIES}:_noun_after", f"{_QUANTITIES}:_NOUN_AFTER"),
        (*CHECKS, "across"),
        {f"{_QUANTITIES}:_noun_after": always("")},
    ),
    _numbers(
        "dates",
        ("_ISO_DATE", "_HAN_DATE", "_DAY_MONTH", "_MONTH_DAY", "_MONTH_YEAR", "_LONE_MONTH"),
        ("_read_date",),
    ),
    _numbers("years from and to", ("_YEARS",), ("_read_years",)),
    _numbers("hundredths", ("_HUNDREDTHS",), ("_read_hundredths",)),
    _numbers("weekdays", ("_WEEKDAY",), ("_read_weekday", "_WEEKDAYS")),
    _numbers("times of day", ("_CLOCK",), ("_read_clock",)),
    _numbers("compound numbers", ("_COMPOUND",), ("_read_compound", "_COMPOUND_PART")),
    _numbers("numbers in words", ("_SPELLED_MEASURE",), ("SMALL_NUMBERS", "TENS")),
    _numbers("ordinals", ("_ORDINAL",), ("_read_ordinal", "ORDINALS")),
    _numbers("Han numerals", ("_HAN_MEASURE",), ("_read_han", "_COUNTERS")),
    Rule("remarks on missing evidence", (f"{_STATEMENTS}:NO_INFORMATION",), required="A6, X2"),
    pattern("phrases around an answer", f"{_STATEMENTS}:SMALL_TALK", ("gate", "real_documents")),
    pattern("numbers of list items", f"{_STATEMENTS}:ITEM_NUMBER", (*ANSWERS, "gate")),
    pattern("headings and table rules", f"{_STATEMENTS}:SCAFFOLDING", (*ANSWERS, "gate")),
    Rule("names across languages", (_SCRIPTS,), ("across",), {f"{_SCRIPTS}:missing_names": always([])}),
    Rule(
        "names across languages: katakana of other origin",
        (f"{_SCRIPTS}:_OTHER_ORIGIN",),
        ("across",),
        {f"{_SCRIPTS}:_OTHER_ORIGIN": {}},
    ),
    Rule(
        "names across languages: spelling as pronounced",
        (f"{_SCRIPTS}:_SPELLINGS",),
        ("across",),
        {f"{_SCRIPTS}:_SPELLINGS": ()},
    ),
    Rule(
        "one and two as words",
        (f"{_TRANSLATION}:_may_be_a_word",),
        ("across",),
        {f"{_TRANSLATION}:_may_be_a_word": always(False)},
    ),
)

# --- queries --------------------------------------------------------------------------------------------------------

_SPELLING = "agents/spelling"
_REWRITER = "agents/local_rewriter"


def _no_correction(question: str, *_rest: object) -> object:
    return find(f"{_SPELLING}:Correction")(question)


def _sources(module: str, *names: str) -> tuple[str, ...]:
    return tuple(f"{module}:{name}" for name in names)


QUERY_RULES = (
    Rule("spelling, all rules", (_SPELLING,), REWRITES, {f"{_SPELLING}:correct_spelling": _no_correction}),
    Rule(
        "spelling: English slips",
        _sources(_SPELLING, "_may_be_typo", "_closest_word", "_frequency", "_meant_words", "_is_long_vowel"),
        REWRITES,
        {f"{_SPELLING}:_closest_word": always(None)},
    ),
    Rule(
        "spelling: letters that sound alike",
        (f"{_SPELLING}:_SOUND_ALIKE",),
        REWRITES,
        {f"{_SPELLING}:_SOUND_ALIKE": {}},
    ),
    Rule(
        "spelling: Chinese characters",
        _sources(_SPELLING, "_correct_chinese", "_meant_chinese_word", "_is_slip"),
        REWRITES,
        {f"{_SPELLING}:_correct_chinese": always(None)},
        ("zh",),
    ),
    Rule(
        "spelling: Japanese characters",
        _sources(_SPELLING, "_correct_japanese", "_ASKS"),
        REWRITES,
        {f"{_SPELLING}:_correct_japanese": always(None)},
        ("ja",),
    ),
    Rule(
        "words near in meaning",
        _sources(_SPELLING, "_find_synonym", "_english_words"),
        REWRITES,
        {f"{_SPELLING}:_find_synonym": always(None)},
    ),
    Rule(
        "related Chinese words",
        (f"{_REWRITER}:_related_chinese_words",),
        REWRITES,
        {f"{_REWRITER}:_related_chinese_words": always([])},
        ("zh",),
    ),
    Rule(
        "words of the best passages",
        _sources(_REWRITER, "_expansion_words", "_rarity", "_key"),
        REWRITES,
        {f"{_REWRITER}:_expansion_words": always([])},
        required="C4",
    ),
    Rule(
        "own language first",
        ("retrieval/hybrid:_prefer_own_language",),
        ("search",),
        {"retrieval/hybrid:_prefer_own_language": lambda _question, matches: matches},
    ),
    Rule("what a model says is missing", ("agents/missing",), required="X2"),
    Rule("links and addresses", ("agents/links",), required="`benchmarks.hostile`"),
)

RULES = (*FOLLOW_UP_RULES, *ANSWER_RULES, *LANGUAGE_RULES, *GROUNDING_RULES, *QUERY_RULES)
