"""Chinese questions: a quantity, a date or a person of a sentence is replaced by the question word, in its place."""

from __future__ import annotations

import re

LENGTHS = range(8, 40)  # characters
MAX_KEY = 12
MAX_CLAUSES = 2

_NUMBER = r"(?:\d[\d,.]*万?|[一二两三四五六七八九十百千万]+)"
_UNIT = (
    "个工作日|个自然日|个小时|个月|工作日|小时|分钟|秒|天|周|年|元|万元|美元|次|人|名|台|份|间|层|公里|米|毫米|厘米|公斤|克|度"
    "|个百分点|页|条|倍|岁"
)
_AMOUNT = re.compile(rf"(?<![\d.第一二三四五六七八九十月年]){_NUMBER}(?P<unit>{_UNIT})(?![\d一二三四五六七八九十月])")
_SHARE = re.compile(rf"百分之{_NUMBER}|\d[\d.]*[%％]")
_DATE = re.compile(r"(?:次年|每年|当年|\d{4}年)?\d{1,2}月\d{1,2}[日号]")
_PERSON = re.compile(r"由(?P<who>[^，。；、由]{2,14}?)(?=负责|审批|批准|复核|签字|组织|主持|安排|保管|确认|处理)")
_FEW = frozenset("一二两三四五六七八九十")
# The sentence refers to another one, or to the document.
_REFERS = re.compile(
    "^(?:本|该|此|其|这|那|上述|以上|以下|下列|如下|前款|同时|另外|此外|否则|但|因此|所以|例如|逾期|若|如)|本(?:办法|规定|文|公司|制度|手册)|上述|以下|下表|如下|前者|后者|此限|它|他们"
)
_SENTENCE = re.compile(r"[^。！？?]+。")
_CONDITION = re.compile("(?:的|时|后|前|期间|外|上|里)$|[至到~～].{0,3}$")  # a clause that says when something applies
_STARTS = re.compile("几|多少|百分之多少")
_NO_QUESTION = re.compile(r"[“”\"'（）()：:《》]|[A-Za-z]{12,}|不适用|不计入")


def ask_heading(heading: str, text: str) -> str:
    return heading if heading.endswith(("？", "?")) and len(heading) in LENGTHS else ""


def ask_sentence(sentence: str, text: str) -> str:
    """当年未休完的年休假最多可结转6天，… → 当年未休完的年休假最多可结转多少天？"""
    if not _SENTENCE.fullmatch(sentence) or _REFERS.search(sentence):
        return ""
    return _ask_clause(re.split("；", sentence.rstrip("。"))[0])


def ask_item(item: str, text: str) -> str:
    """婚假：13天，… → 婚假有多少天？"""
    key, _, value = item.partition("：")
    if not 2 <= len(key) <= MAX_KEY or re.search(r"[，。、；\s（）()*]", key) or not value:
        return ""
    amount = _AMOUNT.match(value.strip()) or _AMOUNT.match(re.sub("^(?:每年|最多|全年)", "", value.strip()))
    return (
        f"{key}有多少{amount['unit']}？" if amount and amount["unit"] in ("天", "元", "个工作日", "次", "个月") else ""
    )


def _ask_clause(sentence: str) -> str:
    """The clauses up to the first that says how much, when or who."""
    before = ""
    for clause in sentence.split("，"):
        question = "" if _CONDITION.search(clause) else _replace(clause)
        if question:
            whole = f"{before}{question}？"
            is_natural = len(whole) in LENGTHS and whole.count("，") < MAX_CLAUSES and not _STARTS.match(whole)
            return whole if is_natural and not _NO_QUESTION.search(whole) else ""
        before += f"{clause}，"
    return ""


def _replace(clause: str) -> str:
    if found := list(_SHARE.finditer(clause)):
        return _put(clause, found[-1], "百分之多少")
    if found := [match for match in _AMOUNT.finditer(clause) if not _is_idiom(clause, match)]:
        return _put(clause, found[-1], _ask_amount(found[-1]))
    if match := _PERSON.search(clause):
        return clause[: match.start("who")] + "谁" + clause[match.end("who") :]
    if (match := _DATE.search(clause)) and clause[match.end() : match.end() + 1] in ("前", "起", "后", "放"):
        return _put(clause, match, "什么时候" if clause[match.end()] == "放" else "哪一天")
    return ""


def _is_idiom(clause: str, match: re.Match[str]) -> bool:
    """一次 in 一次休完, 每一天, 同一人 and the like count nothing."""
    number = match[0].removesuffix(match["unit"])
    return number == "一" and match["unit"] in ("次", "人", "名", "份", "台", "间", "天", "周", "年", "层", "条", "度")


def _ask_amount(match: re.Match[str]) -> str:
    number, unit = match[0].removesuffix(match["unit"]), match["unit"]
    few = number in _FEW and (
        unit.startswith("个") or unit in ("天", "人", "名", "次", "层", "倍", "周", "年", "小时", "台")
    )
    return f"{'几' if few else '多少'}{'元' if unit == '万元' else unit}"


def _put(clause: str, match: re.Match[str], word: str) -> str:
    return clause[: match.start()] + word + clause[match.end() :]
