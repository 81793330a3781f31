"""Japanese questions: a quantity of a sentence is replaced by the question word, in its place, and its ending by か."""

from __future__ import annotations

import re

LENGTHS = range(10, 56)  # characters
MAX_KEY = 14

_NUMBER = r"(?:(?!1(?![\d,.]))\d[\d,.]*|[二三四五六七八九十]+)"  # 1日 and 1人 often count nothing
_COUNTER = (
    "か月間|か月|ヶ月|カ月|営業日|稼働日|週間|時間|日間|年間|日|年|分間|分|秒|名|人|件|回|室|台|階|本|枚|冊|個|点|度|歳|倍"
    "|パーセント|メートル|キロメートル|キロ|グラム|ミリ|ページ|文字|種類|段階"
)
_AMOUNT = re.compile(rf"(?<![\d.月年第時一二三四五六七八九十]){_NUMBER}(?P<counter>{_COUNTER})(?![\d目末月間])")
_MONEY = re.compile(r"\d[\d,.]*(?:万|千)?(?:\d[\d,]*)?円")
_HOURS = re.compile(r"\d{1,2}時(?:\d{1,2}分)?から(?:翌日?の?)?\d{1,2}時(?:\d{1,2}分)?まで")
_HOUR = re.compile(r"\d{1,2}時(?:\d{1,2}分)?(?=まで|に|から)")
_REFERS = re.compile(
    "^(?:ただし|また|なお|さらに|その|この|これ|それ|そこ|ここ|同|当該|上記|以下|次の|例えば|たとえば|そのため|しかし|一方)"
    "|本(?:規程|書|規則|文書|手引き)|上記|以下の|下記|下表|次の|そのうち|これら|それぞれ|これを|それを|前述"
)
# The question needs a subject before what it asks for, and nothing after that but the end of the sentence.
_TOPIC = re.compile(
    "(?!(?:目標|上限|下限|期間|対象|担当|料金|費用|定員|期限|時間)[はが])(?=[^何い])[^何]*?(?:(?<!また)は|が)[^何]*?(?:何|いくら)[^、]*$"
)
_SENTENCE = re.compile(r"[^。！？?]+。")
_NO_QUESTION = re.compile(r"[「」『』“”\"（）()：:]|[A-Za-z]{16,}")
# Endings of a statement, and of the question. The dictionary form of other verbs takes のですか.
_ENDINGS = (
    ("です", "ですか"), ("ます", "ますか"), ("である", "ですか"),
    ("とする", "としますか"), ("する", "しますか"), ("できる", "できますか"), ("される", "されますか"),
    ("なる", "なりますか"), ("行う", "行いますか"), ("受け付ける", "受け付けますか"), ("設ける", "設けますか"),
    ("ある", "ありますか"),
)  # fmt: skip
_PLAIN_VERB = re.compile("[\u4e00-\u9fff々ぁ-ん][うくぐすつぬぶむる]$")


def ask_heading(heading: str, text: str) -> str:
    return heading if heading.endswith(("？", "?")) and len(heading) in LENGTHS else ""


def ask_sentence(sentence: str, text: str) -> str:
    """時間単位の取得は年間40時間を上限とする。 → 時間単位の取得は年間何時間を上限としますか？"""
    if not _SENTENCE.fullmatch(sentence) or _REFERS.search(sentence):
        return ""
    statement = sentence.rstrip("。")
    for start in (*(match.end() for match in reversed(list(re.finditer("、", statement)))), 0):
        clause = statement[start:]
        if _counts_once(clause) and (question := _ask(clause)) and _TOPIC.match(question):
            return question
    return ""


def ask_item(item: str, text: str) -> str:
    """夏季休暇：7月から9月までの間に4日 → 夏季休暇は何日ですか？"""
    key, _, value = item.partition("：")
    if not 2 <= len(key) <= MAX_KEY or re.search(r"[、。\s（）()*・]", key):
        return ""
    found = list(_AMOUNT.finditer(value))
    is_span = len(found) == 1 and found[0]["counter"] in ("日", "日間", "か月", "か月間", "週間", "年間")
    return f"{key}は何{found[0]['counter']}ですか？" if is_span else ""


def _counts_once(clause: str) -> bool:
    hours = _HOURS.search(clause)
    amounts = len(_AMOUNT.findall(_HOURS.sub("", clause))) + len(_MONEY.findall(clause))
    return bool(hours) != (amounts == 1) or bool(hours) or (not amounts and bool(_HOUR.search(clause)))


def _ask(clause: str) -> str:
    replaced = _replace(clause)
    ending = next((asked for stated, asked in _ENDINGS if replaced.endswith(stated)), "")
    if ending:
        stated = next(stated for stated, _ in _ENDINGS if replaced.endswith(stated))
        question = f"{replaced.removesuffix(stated)}{ending}？"
    elif replaced and _PLAIN_VERB.search(replaced):
        question = f"{replaced}のですか？"
    else:
        return ""
    return question if len(question) in LENGTHS and not _NO_QUESTION.search(question) else ""


def _replace(clause: str) -> str:
    if match := _HOURS.search(clause):
        return _put(clause, match, "何時から何時まで")
    if match := _AMOUNT.search(clause):
        return _put(clause, match, f"何{match['counter']}")
    if match := _MONEY.search(clause):
        return _put(clause, match, "いくら")
    if match := _HOUR.search(clause):
        return _put(clause, match, "何時")
    return ""


def _put(clause: str, match: re.Match[str], word: str) -> str:
    return clause[: match.start()] + word + clause[match.end() :]
