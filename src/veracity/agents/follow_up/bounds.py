"""Bounds in questions, such as "over 1 year", 超过一年, 1年を超える: a new one replaces the old one (SPEC D3)."""

from __future__ import annotations

import re

from veracity.language import Language
from veracity.patterns import lazy_pattern

_EN_NUMBER = "(?:[0-9][0-9,.]{0,11}|one|two|three|four|five|six|seven|eight|nine|ten|twelve)"
_EN_TIME = "(?:years?|months?|weeks?|days?|hours?|quarters?|decades?)"
_EN_BOUND = (
    "(?:(?:no |not )?(?:less|fewer|more|longer|shorter|greater|later|earlier|older|younger|higher|lower|sooner) than|"
    "under|over|above|below|up to|at (?:least|most)|within|after|before|beyond|exceeding) "
    rf"(?:{_EN_NUMBER}(?P<unit> ?%| [a-z]+\b)?|(?:half )?an? {_EN_TIME}\b)"
)
_ZH_AMOUNT = (
    "[0-9.一二两三四五六七八九十百千万半]{1,12}"
    "个?(?:工作日|小时|分钟|星期|季度|公里|年|月|天|日|周|岁|元|块|次|人|名|位|%)"
)
_ZH_BOUND = (
    "(?:不满|未满|不足|不到|不超过|不少于|少于|低于|小于|超过|多于|高于|大于|满|至少|最多)"
    f"{_ZH_AMOUNT}(?:以[上下内])?|{_ZH_AMOUNT}(?:以[上下内后前]|之[内后前]|内|后|前)"
)
_JA_AMOUNT = "[0-9.一二三四五六七八九十百千万半]{1,12}(?:[かヶカヵ]月|週間?|時間|年|月|日|分|歳|才|円|人|名|回|個|%)間?"
_JA_VERB = "(?:を超える|を超えた|を過ぎた|に満たない|より多い|より少ない|より長い|より短い)"
_JA_BOUND = f"{_JA_AMOUNT}(?:{_JA_VERB}|以内|以下|以上|未満|以降|まで|超|後|前)"

_BOUND: dict[Language, re.Pattern[str]] = {
    "en": lazy_pattern(rf"\b{_EN_BOUND}", re.IGNORECASE),
    "zh": lazy_pattern(_ZH_BOUND),
    "ja": lazy_pattern(_JA_BOUND),
}
_ONLY_BOUND: dict[Language, re.Pattern[str]] = {
    "en": lazy_pattern(f"(?P<bound>{_EN_BOUND})", re.IGNORECASE),
    "zh": lazy_pattern(f"(?:如果|要是|若)?(?P<bound>{_ZH_BOUND})(?:的话|的)?"),
    "ja": lazy_pattern(f"(?P<bound>{_JA_BOUND})(?:の?場合)?"),
}
# A period without a comparison, which a bound replaces as well.
_FIRST_PERIOD = lazy_pattern(
    rf"\b(?:(?:in|during|for|within|of) )?(?:the|my|your) first (?:{_EN_NUMBER} )?{_EN_TIME}\b", re.IGNORECASE
)
_ENDS_IN_VERB = lazy_pattern(f"{_JA_VERB}$")


def replace_bound(question: str, other: str, language: Language) -> str | None:
    """The question with another bound, which is added if it has none; None if `other` is no bound."""
    if not (match := _ONLY_BOUND[language].fullmatch(other.strip())):
        return None
    new, old = match["bound"], _find_bound(question, language)
    if old is None:
        return _with_condition(question, new, language)
    start, end = old.span()
    if language == "en" and not match["unit"] and not re.search("[a-z%]$", new):  # "more than 5" of "up to 5 users"
        new += old.groupdict().get("unit") or ""
    if language == "ja":
        was_verb, is_verb = (bool(_ENDS_IN_VERB.search(bound)) for bound in (old[0], new))
        end += is_verb and question.startswith("の", end)
        new += "の" if was_verb and not is_verb else ""
    return question[:start] + new + question[end:]


def _find_bound(question: str, language: Language) -> re.Match[str] | None:
    bounds = list(_BOUND[language].finditer(question))
    periods = list(_FIRST_PERIOD.finditer(question)) if language == "en" else []
    return next(reversed(bounds or periods), None)


def _with_condition(question: str, bound: str, language: Language) -> str:
    if language == "zh":
        return f"如果{bound}，{question}"
    if language == "ja":
        return f"{bound}{'' if _ENDS_IN_VERB.search(bound) else 'の'}場合、{question}"
    body = question.rstrip(" ?.!")
    return f"{body} {bound}{question[len(body) :]}"
