"""What a model that abstains says is missing (SPEC X2).

It is published without a review, so only what names the subject of the question is kept: no numbers, links or claims.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from veracity.grounding.statements import NO_INFORMATION
from veracity.language import content_tokens, guess_language, sentences
from veracity.language.citations import without_marks
from veracity.patterns import lazy_pattern

MAX_MISSING = 5
MAX_MISSING_LENGTH = 300
MAX_PUBLISHED_LENGTH = 120

_LINK = lazy_pattern(r"https?:|www\.|\w\.\w{2,}/|@", re.IGNORECASE)
_LIST_ITEM = lazy_pattern(r"\s*(?:[-*•・]|\d{1,2}[.)、])\s*(?=\S)")

# The words around what is missing: "the documents do not say [how much it costs]".
_EN_SOURCE = (
    r"(?:(?:the|these|this|any|your|provided|given|available|supplied) ){0,3}"
    r"(?:documents?|context|sources?|texts?|evidence|passages?|materials?|excerpts?|articles?|records?)"
)
_EN_DENIAL = (
    rf"^[^.;]{{0,40}}?\b{_EN_SOURCE}\b[^.;]{{0,40}}?(?:\bnot|n't|\bnever) "
    r"(?:say|state|mention|specify|contain|provide|include|cover|address|give)\s+(?:explicitly )?"
    r"(?:(?:any )?(?:information|details?) |anything )?(?:(?:about|on|regarding) )?"
    r"|^(?:there is |i found |i have )?no (?:information|mention|details?|data) (?:about|on|of|regarding) "
    r"|(?: (?:is|are|was|were))?(?: not)?(?: (?:mentioned|stated|specified|covered|given|provided|found|available))?"
    rf" (?:in|by) {_EN_SOURCE}\W*$"
)
_ZH_SOURCE = r"(?:所?提供的|现有的?|这些)?(?:资料|文档|文件|证据|上下文|材料|原文|来源|文中)(?:中|里|内)?"
_ZH_VERB = r"(?:并?没有|并?未|没)(?:明确)?(?:提及|提到|说明|提供|涉及|包含|给出|记载|写明|指出)"
_ZH_DENIAL = (
    rf"^(?:抱歉，)?{_ZH_SOURCE}{_ZH_VERB}(?:任何)?(?:关于|有关)?|(?:，|在)?{_ZH_SOURCE}{_ZH_VERB}\W*$|^(?:关于|有关)"
)
_JA_SOURCE = r"(?:資料|文書|根拠|文脈|本文|ドキュメント|出典|文中)(?:の中)?(?:に|で|から)?は?、?"
_JA_VERB = r"(?:記載|言及|記述|説明|情報|書かれて)\w{0,8}(?:ません|ない|なし)"
_JA_DENIAL = (
    rf"^(?:提供された)?{_JA_SOURCE}(?=.)|(?:に(?:ついて|関する|関して)の?|[のがはも])?(?:{_JA_SOURCE})?{_JA_VERB}\W*$"
)
_DENIAL = lazy_pattern(f"{_EN_DENIAL}|{_ZH_DENIAL}|{_JA_DENIAL}", re.IGNORECASE)


def find_missing(reason: str) -> tuple[str, ...]:
    """The items of a list, else the first paragraph: the following ones are often an uncited answer."""
    items = [_LIST_ITEM.sub("", line) for line in reason.splitlines() if _LIST_ITEM.match(line)]
    lines = items or [re.split(r"\n\s*\n", reason, maxsplit=1)[0]]
    tidy = (" ".join(without_marks(line).split())[:MAX_MISSING_LENGTH] for line in lines)
    return tuple(part for line in tidy for part in _name_missing(line))[:MAX_MISSING]


def may_be_published(missing: str, question: str) -> bool:
    """Whether it only names what the question is about."""
    language = guess_language(question)
    words, question_words = set(content_tokens(missing, language)), set(content_tokens(question, language))
    new_numbers = set(re.findall(r"\d+", missing)) - set(re.findall(r"\d+", question))
    if len(missing) > MAX_PUBLISHED_LENGTH or new_numbers or _LINK.search(missing) or NO_INFORMATION.search(missing):
        return False
    return bool(words) and 2 * len(words & question_words) >= len(words)


def _name_missing(line: str) -> Iterator[str]:
    """What its sentences say is missing; the line itself if none says that the documents lack something."""
    texts = [sentence.text for sentence in sentences(line)]
    named = [_DENIAL.sub("", text).strip(" .。,，、") for text in texts if _DENIAL.search(text)]
    yield from [part for part in named if part] or filter(None, [line])
