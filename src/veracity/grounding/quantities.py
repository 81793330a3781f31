"""Parses numbers, dates and measures and compares them by value: 3.2 million is 3,200,000 and 1 kg is 1,000 g.

English, Chinese and Japanese.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache

from veracity.language import content_tokens
from veracity.language.scripts import HAN, KATAKANA
from veracity.patterns import lazy_pattern

# Dimension, spellings = factor to the base unit. Months and years have no fixed length in days.
_UNIT_TABLE = """
mass mg milligram milligrams 毫克 ミリグラム = 0.001
mass g gram grams 克 グラム = 1
mass kg kilogram kilograms kilo kilos 公斤 千克 キロ キログラム = 1000
mass t ton tons tonne tonnes 吨 トン = 1000000
mass lb lbs pound pounds 磅 ポンド = 453.59237
length mm millimetre millimeter millimetres millimeters 毫米 ミリ = 0.001
length cm centimetre centimeter centimetres centimeters 厘米 センチ センチメートル = 0.01
length m metre meter metres meters 米 メートル = 1
length km kilometre kilometer kilometres kilometers 公里 千米 キロメートル = 1000
length ft foot feet 英尺 フィート = 0.3048
length mi mile miles 英里 マイル = 1609.344
time s sec secs second seconds 秒 秒間 秒钟 = 1
time min mins minute minutes 分钟 分間 = 60
time h hr hrs hour hours 小时 時間 = 3600
time day days 天 日 日間 = 86400
time week weeks 周 星期 週間 = 604800
span month months 个月 か月 ヶ月 カ月 ヵ月 箇月 = 1
span year years 年間 年 = 12
share % percent pct パーセント = 1
dollar $ usd dollar dollars 美元 ドル = 1
euro € eur euro euros 欧元 ユーロ = 1
sterling £ gbp = 1
yen jpy yen 円 日元 = 1
yuan cny rmb yuan 元 人民币 = 1
data kb kilobyte kilobytes = 1
data mb megabyte megabytes = 1000
data gb gigabyte gigabytes = 1000000
data tb terabyte terabytes = 1000000000
celsius °c celsius 摄氏度 = 1
fahrenheit °f fahrenheit 华氏度 = 1
age 歳 岁 = 1
people 人 名 people persons = 1
"""


def _read_table() -> dict[str, tuple[str, Decimal]]:
    units = {}
    for line in _UNIT_TABLE.strip().splitlines():
        names, factor = line.split(" = ")
        dimension, *spellings = names.split()
        units.update({spelling: (dimension, Decimal(factor)) for spelling in spellings})
    return units


UNITS = _read_table()
# ¥ is ambiguous: yen or yuan.
CURRENCY_SIGNS = "$€£"


def _counted(words: str, first: int) -> dict[str, int]:
    return {word: number for number, word in enumerate(words.split(), first)}


MONTHS = _counted("january february march april may june july august september october november december", 1)
SMALL_NUMBERS = _counted(
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen",
    0,
)
TENS = {word: 10 * n for word, n in _counted("twenty thirty forty fifty sixty seventy eighty ninety", 2).items()}
# "first" and "second" have too many other meanings.
ORDINALS = _counted("third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth", 3)
SCALES = {"hundred": 10**2, "thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12}
HAN_SCALES = {"十": 10, "百": 10**2, "千": 10**3, "万": 10**4, "萬": 10**4, "亿": 10**8, "億": 10**8, "兆": 10**12}
HAN_DIGITS = {digit: value for value, digit in enumerate("〇一二三四五六七八九")} | {"零": 0, "两": 2, "兩": 2}


def han_value(numeral: str) -> int:
    """三百二十 is 320, 二〇一九 is 2019, 一亿二千万 is 120,000,000."""
    if all(character in HAN_DIGITS for character in numeral):
        return int("".join(str(HAN_DIGITS[character]) for character in numeral))
    total = section = digit = 0
    for character in numeral:
        if character in HAN_DIGITS:
            digit = HAN_DIGITS[character]
        elif HAN_SCALES[character] < 10**4:
            section += (digit or 1) * HAN_SCALES[character]
            digit = 0
        else:
            total += (section + digit or 1) * HAN_SCALES[character]
            section = digit = 0
    return total + section + digit


YEAR = "n:year"


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number and what it counts: a dimension ("mass"), a noun ("n:store"), or "" if unknown.

    `value` is in the base unit of the dimension; `number` is as written.
    """

    number: Decimal
    value: Decimal
    kind: str
    surface: str
    start: int
    end: int

    @property
    def is_measure(self) -> bool:
        return bool(self.kind) and not self.kind.startswith("n:")


def agrees(stated: Quantity, known: Sequence[Quantity]) -> bool:
    """Whether the stated quantity is among the known ones.

    A bare number agrees with a measure of the same value, because a table may name the unit elsewhere, unless the known
    quantities have another value for the same thing: "30 days" is not in "90 days for 30 people".
    """
    same_kind = [other for other in known if other.kind == stated.kind]
    if any(other.value == stated.value for other in same_kind):
        return True
    if stated.kind and same_kind:
        return False
    return any(other.number == stated.number and not (stated.is_measure and other.is_measure) for other in known)


def differs(stated: Quantity, known: Sequence[Quantity]) -> bool:
    """Whether the known quantities count the same thing with another number."""
    same_kind = [other for other in known if other.kind == stated.kind]
    return bool(stated.kind and same_kind) and not agrees(stated, known)


def quantities(plain: str) -> tuple[Quantity, ...]:
    """The quantities of a normalized text, in order."""
    result: list[Quantity] = []
    for form, read in _forms(_DIGIT.search(plain) is not None, plain.isascii()):
        here = [quantity for match in form.finditer(plain) for quantity in read(match)]
        if here:
            plain = blanked(plain, [(quantity.start, quantity.end) for quantity in here])
            result += here
    return tuple(sorted(result, key=lambda quantity: quantity.start))


def blanked(plain: str, spans: Iterable[tuple[int, int]]) -> str:
    """The text with the spans replaced by spaces, so that nothing is read twice."""
    pieces, position = [], 0
    for start, end in sorted(spans):
        if end > position:
            pieces += [plain[position:start], " " * (end - max(start, position))]
            position = end
    return "".join([*pieces, plain[position:]])


_MONTH_ABBREVIATIONS = {name[:3]: number for name, number in MONTHS.items()} | {"sept": 9}
_MONTH = "|".join(sorted(MONTHS | _MONTH_ABBREVIATIONS, key=len, reverse=True))
# On their own, "may" and "march" are mostly verbs.
_PLAIN_MONTH = "|".join(name for name in MONTHS if name not in ("may", "march"))
_ISO_DATE = lazy_pattern(r"(?<!\d)(?P<year>\d{4})[-/.](?P<month>\d{1,2})[-/.](?P<day>\d{1,2})(?!\d)")
# 2018–19; the century is that of the first year.
_YEARS = lazy_pattern(r"(?<!\d)(?P<first>[12]\d{3})[–-](?P<last>\d{2})(?![\d–-])")
_HAN_DATE = lazy_pattern(r"(?<!\d)(?P<year>\d{4}年)?(?P<month>\d{1,2}月)(?P<day>\d{1,2}[日号])?")
_DAY_MONTH = lazy_pattern(
    rf"(?<![\d.,])(?P<day>\d{{1,2}})(?:st|nd|rd|th)?(?: of)? (?P<name>{_MONTH})\b(?:\.?,? (?P<year>\d{{4}})\b)?", re.I
)
_MONTH_DAY = lazy_pattern(
    rf"\b(?P<name>{_MONTH})\.? (?P<day>\d{{1,2}})(?:st|nd|rd|th)?\b(?:,? (?P<year>\d{{4}})\b)?", re.I
)
_MONTH_YEAR = lazy_pattern(rf"\b(?P<name>{_MONTH})\.?,? (?P<year>\d{{4}})\b", re.I)
_LONE_MONTH = lazy_pattern(rf"\b(?P<name>{_PLAIN_MONTH})\b", re.I)


def _read_date(match: re.Match[str]) -> Iterator[Quantity]:
    """Year, month and day as separate quantities: "3 March" matches "2024-03-03"."""
    for part, text in match.groupdict().items():
        if text:
            name = text.lower()
            value = MONTHS.get(name) or _MONTH_ABBREVIATIONS.get(name) or int(text.rstrip("年月日号"))
            kind = {"day": "calendar day", "year": YEAR}.get(part, "calendar month")
            yield Quantity(Decimal(value), Decimal(value), kind, text, match.start(part), match.end(part))


def _read_years(match: re.Match[str]) -> Iterator[Quantity]:
    for part, year in (("first", match["first"]), ("last", match["first"][:2] + match["last"])):
        yield Quantity(Decimal(year), Decimal(year), YEAR, match[part], match.start(part), match.end(part))


def _either(words: Iterable[str]) -> str:
    return "|".join(re.escape(word) for word in sorted(words, key=len, reverse=True))


_WORD_UNIT = rf"(?:{_either(u for u in UNITS if u.isascii() and u.isalpha())})(?![A-Za-z])"
_SIGN_UNIT = _either(u for u in UNITS if not (u.isascii() and u.isalpha()) and u not in CURRENCY_SIGNS)
_UNIT = rf"(?:[ -]?(?P<unit>{_SIGN_UNIT}|{_WORD_UNIT}))?"
_SCALE = rf"(?:[ -]?(?P<scale>{_either(SCALES)}|[{''.join(HAN_SCALES)}]{{1,2}}))?"
_DIGITS = r"\d{1,3}(?:,\d{3}){1,6}(?!\d)(?:\.\d{1,20})?|\d{1,30}(?:\.\d{1,20})?"
_HAN_NUMERAL = f"[{''.join(HAN_DIGITS)}{''.join(HAN_SCALES)}]{{1,20}}"
_SPELLED = rf"(?:(?:{_either(TENS)})[- ](?:{_either(list(SMALL_NUMBERS)[1:10])})|{_either(TENS | SMALL_NUMBERS)})"
_COUNTERS = "个|個|つ|次|回|家|件|条|倍|位|种|種|本|枚|台|社|校|か国|カ国|座|所|场|项|項|月"

_HUNDREDTHS = lazy_pattern(rf"百分之(?P<number>{_DIGITS}|{_HAN_NUMERAL})")
_MINUS = r"(?P<minus>(?<![\w.,)\]])[-−]|\bminus |マイナス|零下|氷点下)?"
_MEASURE = lazy_pattern(
    rf"{_MINUS}(?P<currency>[{CURRENCY_SIGNS}] ?)?(?P<number>{_DIGITS})(?:(?:st|nd|rd|th)\b)?{_SCALE}{_UNIT}", re.I
)
_SPELLED_MEASURE = lazy_pattern(rf"\b(?P<number>{_SPELLED}|an?(?= (?:{_either(SCALES)})))\b{_SCALE}{_UNIT}", re.I)
_ORDINAL = lazy_pattern(rf"\b(?P<number>{_either(ORDINALS)})\b", re.I)
_HAN_MEASURE = lazy_pattern(rf"(?P<nth>第)?(?P<number>{_HAN_NUMERAL})(?:(?P<unit>{_SIGN_UNIT})|(?={_COUNTERS}))")
# 208億3600万
_COMPOUND = lazy_pattern(
    rf"(?P<number>(?:\d{{1,4}}(?:\.\d{{1,4}})?[{''.join(HAN_SCALES)}]){{2,5}}(?:\d{{1,4}}(?!\d))?)(?P<unit>{_SIGN_UNIT})?"
)
_COMPOUND_PART = lazy_pattern(rf"(\d+(?:\.\d+)?)([{''.join(HAN_SCALES)}]?)")
_NOUN_AFTER = lazy_pattern(rf" ([^\W\d_{HAN}]+)|[{HAN}{KATAKANA}]")


def _read_measure(match: re.Match[str]) -> Iterator[Quantity]:
    number = match["number"].lower()
    scale, unit = match["scale"], match["unit"]
    if number == "one" and not (scale or unit):
        return  # "one" is mostly a pronoun
    value = _value(number) * (_scale(scale) if scale else 1)
    if match.groupdict().get("minus"):
        value = -value
    sign = (match.groupdict().get("currency") or "").strip()
    if unit in ("s", "S", "年") and _is_year(number):
        unit = ""  # the 1990s, 1990年
    kind, factor = UNITS.get((unit or sign).lower(), ("", Decimal(1)))
    if not kind:
        kind = YEAR if _is_year(number) and not scale else _noun_after(match)
    yield _quantity(match, value, kind, factor)


_CLOCK = lazy_pattern(
    r"(?<![\d:.])(?P<hour>[01]?\d|2[0-3])(?::(?P<minute>[0-5]\d))?(?::[0-5]\d)? ?(?P<half>[ap])\.?m\b\.?"
    r"|(?<![\d:.])(?P<hour_24>[01]?\d|2[0-3]):(?P<minute_24>[0-5]\d)(?![\d:])"
    r"|(?P<half_day>午前|午後|上午|下午)(?P<hour_of_half>\d{1,2})[時点时:](?P<minute_of_half>[0-5]?\d)?分?",
    re.I,
)


def _read_clock(match: re.Match[str]) -> Iterator[Quantity]:
    """A time of day, in minutes: 2 pm is 14:00."""
    hour = int(match["hour"] or match["hour_24"] or match["hour_of_half"])
    minute = int(match["minute"] or match["minute_24"] or match["minute_of_half"] or 0)
    if match["half"] or match["half_day"]:
        hour = hour % 12 + 12 * (match["half"] in ("p", "P") or match["half_day"] in ("午後", "下午"))
    yield _quantity(match, Decimal(60 * hour + minute), "time of day")


_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_WEEKDAY = lazy_pattern(
    rf"\b(?P<name>{'|'.join(_WEEKDAYS)})s?\b|(?:周|星期|礼拜)(?P<han>[一二三四五六日天])|(?P<kanji>[月火水木金土日])曜日?",
    re.I,
)


def _read_weekday(match: re.Match[str]) -> Iterator[Quantity]:
    name, han, kanji = match["name"], match["han"], match["kanji"]
    if name:
        number = _WEEKDAYS.index(name.lower())
    else:
        number = "一二三四五六日".index(han.replace("天", "日")) if han else "月火水木金土日".index(kanji)
    yield _quantity(match, Decimal(number + 1), "weekday")


def _read_compound(match: re.Match[str]) -> Iterator[Quantity]:
    parts = _COMPOUND_PART.findall(match["number"])
    value = sum((Decimal(digits) * HAN_SCALES.get(scale, 1) for digits, scale in parts), Decimal(0))
    kind, factor = UNITS[match["unit"]] if match["unit"] else (_noun_after(match), Decimal(1))
    yield _quantity(match, value, kind, factor)


def _read_hundredths(match: re.Match[str]) -> Iterator[Quantity]:
    number = match["number"]
    value = _value(number) if number[0].isdigit() else Decimal(han_value(number))
    yield _quantity(match, value, "share")


def _read_ordinal(match: re.Match[str]) -> Iterator[Quantity]:
    yield _quantity(match, Decimal(ORDINALS[match["number"].lower()]), _noun_after(match))


def _read_han(match: re.Match[str]) -> Iterator[Quantity]:
    """Han numerals followed by a unit or counter."""
    numeral, unit = match["number"], match["unit"]
    if numeral == "一" and not (match["nth"] or unit):
        return  # 一个 is "a", 一种 is "a kind of"
    kind, factor = UNITS[unit] if unit else (_noun_after(match), Decimal(1))
    yield _quantity(match, Decimal(han_value(numeral)), kind, factor)


def _quantity(match: re.Match[str], number: Decimal, kind: str, factor: Decimal = Decimal(1)) -> Quantity:
    return Quantity(number, number * factor, kind, match[0], match.start(), match.end())


def _value(number: str) -> Decimal:
    if number[0].isdigit():
        return Decimal(number.replace(",", ""))
    if number in ("a", "an"):
        return Decimal(1)
    return Decimal(sum((SMALL_NUMBERS | TENS)[word] for word in re.split("[- ]", number)))


def _scale(scale: str) -> int:
    return SCALES.get(scale.lower()) or han_value(scale)


def _is_year(number: str) -> bool:
    return len(number) == 4 and number.isdigit() and "1000" <= number < "2200"


def _noun_after(match: re.Match[str]) -> str:
    """The unit that is counted: the English word after it, or the Chinese or Japanese counter."""
    noun = _NOUN_AFTER.match(match.string, match.end())
    if noun is None:
        return ""
    token = content_tokens(noun[1])[:1] if noun[1] else [noun[0]]
    return f"n:{token[0]}" if token else ""


_Form = tuple[re.Pattern[str], Callable[[re.Match[str]], Iterator[Quantity]]]
_DIGIT = lazy_pattern(r"\d")
_FORMS: tuple[_Form, ...] = (
    (_ISO_DATE, _read_date),
    (_YEARS, _read_years),
    (_HAN_DATE, _read_date),
    (_DAY_MONTH, _read_date),
    (_MONTH_DAY, _read_date),
    (_MONTH_YEAR, _read_date),
    (_LONE_MONTH, _read_date),
    (_HUNDREDTHS, _read_hundredths),
    (_WEEKDAY, _read_weekday),
    (_CLOCK, _read_clock),
    (_COMPOUND, _read_compound),
    (_MEASURE, _read_measure),
    (_SPELLED_MEASURE, _read_measure),
    (_ORDINAL, _read_ordinal),
    (_HAN_MEASURE, _read_han),
)
_WITH_DIGITS = (_ISO_DATE, _YEARS, _HAN_DATE, _DAY_MONTH, _MONTH_DAY, _MONTH_YEAR, _COMPOUND, _MEASURE)
_WITH_HAN = (_HAN_DATE, _HUNDREDTHS, _COMPOUND, _HAN_MEASURE)


@lru_cache(maxsize=4)
def _forms(has_digits: bool, is_ascii: bool) -> tuple[_Form, ...]:
    """The patterns that can match a text. Most sentences contain no digit."""
    without = (() if has_digits else _WITH_DIGITS) + (_WITH_HAN if is_ascii else ())
    return tuple(form for form in _FORMS if form[0] not in without)
