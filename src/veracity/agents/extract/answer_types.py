"""The kind of answer that a question expects, and the spans of a text that have this kind. Based on patterns alone.

Prefers false positives to misses, because a match counts only near the question's keywords. Every pattern is bounded,
so hostile text takes linear time.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal

from veracity.language import Language, jieba
from veracity.language.words import ENGLISH
from veracity.patterns import lazy_pattern

Kind = Literal["date", "amount", "person", "place", "thing"]
Span = tuple[int, int]


def expected_kind(question: str) -> Kind:
    return next((kind for kind, asks in ASKS.items() if asks.search(question)), "thing")


def find_answers(plain: str, question: str, kind: Kind, language: Language) -> Iterator[Span]:
    """The spans of a normalized text that are of the expected kind."""
    if kind == "date":
        yield from _dates(plain, question, language)
    elif kind == "amount":
        yield from _amounts(plain, question, language)
    elif language == "zh":
        yield from _chinese(plain, kind)
    elif kind == "thing":
        yield from (match.span(1) for match in QUOTED.finditer(plain))
    elif language == "ja":
        yield from (match.span() for match in (JAPANESE_PERSON if kind == "person" else JAPANESE_PLACE).finditer(plain))
    else:
        yield from _capitalised(plain)


def _dates(plain: str, question: str, language: Language) -> Iterator[Span]:
    """The dates in a text, or times of day for 何時. If the question already contains a year, a date needs a month or
    day."""
    if ASKS_TIME_OF_DAY.search(question):
        yield from (match.span() for match in TIME_OF_DAY.finditer(plain))
        return
    needs_day = bool(YEAR.search(question)) and language != "en"
    for match in (ENGLISH_DATE if language == "en" else HAN_DATE).finditer(plain):
        if not needs_day or match[0][-1] in "月日号":
            yield match.span()


def _amounts(plain: str, question: str, language: Language) -> Iterator[Span]:
    """Numbers with the unit that the question asks for, without dates."""
    wanted = [unit for asked, unit in UNITS if asked.search(question)]
    if language != "en" and not VALUE.search(question):
        wanted = wanted or [MEASURE]
    for match in NUMBER.finditer(plain):
        if language == "en" and YEAR.fullmatch(match[0]):
            continue
        if not wanted or any(unit.match(plain, match.end()) for unit in wanted):
            yield match.span()


def _chinese(plain: str, kind: Kind) -> Iterator[Span]:
    """Spans by the segmenter's tags. It tags many other words as names, so persons need a known surname."""
    end = 0
    for word, tag in jieba.tag(plain):
        start, end = end, end + len(word)
        if len(word) > 1 and _is_of_kind(word, tag, kind):
            yield start, end
    if kind == "person":
        yield from ((match.start() - 1, match.end() + 1) for match in NAME_SEPARATOR.finditer(plain, 1))
    if kind != "place":
        yield from _capitalised(plain)


def _is_of_kind(word: str, tag: str, kind: Kind) -> bool:
    if kind == "thing":
        return tag in THING_TAGS
    if kind == "place":
        return tag in PLACE_TAGS
    return tag in PERSON_TAGS and ((word[0] in SURNAMES and len(word) <= 4) or (tag != "nr" and len(word) > 2))


def _capitalised(plain: str) -> Iterator[Span]:
    return (match.span() for match in CAPITALISED.finditer(plain) if match[0].lower() not in ENGLISH)


_QUESTION_END = r"(?=[？?。\s]|$|和|及|是|为|分别|有|在|叫)"
_TOPIC = r"は(?:[？?。\s]|$)"
# Question words for a kind, and nouns that ask for it at the end of a question: 上映时间, 首都は.
ASKS: dict[Kind, re.Pattern[str]] = {
    "date": lazy_pattern(
        r"\bwhen\b|\b(?:what|which) (?:year|date|day|month|century|decade|season)\b|\bwhat time\b"
        rf"|什么时候|何时|哪一?[年天月日]|几[月号]|(?:时间|日期|年份){_QUESTION_END}"
        rf"|いつ|何(?:年|月|日|時(?!間)|世紀|曜日)|年月日|(?:時期|日付|年){_TOPIC}",
        re.IGNORECASE,
    ),
    "amount": lazy_pattern(
        r"\bhow (?:many|much|long|often|far|old|tall|big|high|deep|fast|large|wide|heavy|late|early)\b"
        r"|\bwhat (?:is|was|are|were) the (?:\w{1,20} ){0,2}(?:number|population|percentage|amount|price|cost|rate|age|"
        r"height|distance|length|size|score|total|temperature|speed|weight|salary)\b|\bwhat (?:percent|age|number|size)"
        r"|多少|多久|多长|多大|多高|多远|多重|几(?!乎|何)"
        r"|(?:人数|数量|总数|[产销出吞吐交付运]量|票房|营收|收入|价格?|售价|金额|[率额]|点数|席位|震级|奖金|人次|"
        rf"比分|距离|面积|人口){_QUESTION_END}"
        r"|いくつ|いくら|どのくらい|どれくらい|どれほど|何(?:キロ|メートル|パーセント|時間|[人個回件円歳種つ本枚台倍度番位階"
        rf"％%割点名間ヶかカ冊校社国都])|(?:人口|面積|距離|高さ|長さ|数|割合|率){_TOPIC}",
        re.IGNORECASE,
    ),
    "person": lazy_pattern(
        r"\bwho(?:m|se)?\b|谁|哪[位支队名]"
        rf"|(?:导演|主演|编剧|冠军|亚军|季军|得主|主角|作者|市长|总统|主席|行政长官|选手|创始人|队伍){_QUESTION_END}"
        rf"|誰|だれ|どなた|人物(?:は|名)|(?:氏名|人|者|王|監督|作者|大統領|首相){_TOPIC}",
        re.IGNORECASE,
    ),
    "place": lazy_pattern(
        r"\bwhere\b|\b(?:what|which) (?:city|country|state|county|town|place|continent|island|river)\b|\bcapital of\b"
        r"|哪里|哪儿|何处|在哪|哪[个座]?(?:城市|国家|国|省|市|州|地方)|哪些国家"
        rf"|(?:地点|举办地|首都|举办国|所在地|城市|国家){_QUESTION_END}"
        rf"|どこ|何(?:県|市|州|処|という国)|どの(?:国|都市|県|州|地域)|(?:場所|首都|州都|都市|国|県|地){_TOPIC}",
        re.IGNORECASE,
    ),
}

# Words that name the kind and do not occur in the answer. Includes the counter after a question word; otherwise
# 多少天年假 is segmented as 天年.
KIND_NAMES = lazy_pattern(
    r"(?:多少|几)[天个名位次种年月块支家岁人]|时间|日期|年份|地点|人数|数量|分别|具体|总共|名字|姓名|给出|叫|\b(?:names?|year|date|number|mean|meaning)\b"
    r"|名前|名称|場所|人物",
    re.IGNORECASE,
)

YEAR = lazy_pattern(r"(?<!\d)(?:1[5-9]|20)\d\d(?!\d)")
_MONTH = r"(?:jan|feb|mar|apr|may|june?|july?|aug|sept?|oct|nov|dec)[a-z]{0,6}"
ENGLISH_DATE = lazy_pattern(
    rf"\b{_MONTH}\.? \d{{1,4}}|\b\d{{1,2}} {_MONTH}\b|\b(?:1\d|20)\d\ds?\b|\b\d{{1,2}}(?:st|nd|rd|th) century"
    r"|\b(?:january|february|april|june|july|august|september|october|november|december|monday|tuesday|wednesday|"
    r"thursday|friday|saturday|sunday|spring|summer|autumn|winter|easter|christmas)\b",
    re.IGNORECASE,
)
_NUMERAL = "〇零一二三四五六七八九十百千"
HAN_DATE = lazy_pattern(
    rf"(?:\d{{2,4}}|[{_NUMERAL}]{{4}}) ?年(?: ?\d{{1,2}} ?月)?(?: ?\d{{1,2}} ?[日号])?"
    r"|\d{1,2} ?月(?: ?\d{1,2} ?[日号])?|(?<!\d)\d{1,2} ?[日号](?![線线館楼元])|\d{1,2} ?世[紀纪]"
    rf"|[{_NUMERAL}]{{1,3}}月[{_NUMERAL}]{{1,3}}[日号]|[{_NUMERAL}]{{2,3}}日(?![本常])"
    rf"|(?:昭和|平成|明治|大正|令和|元禄|天保|享保|慶長)[\d{_NUMERAL}元]{{1,3}}年|紀元前"
)
ASKS_TIME_OF_DAY = lazy_pattern("何時(?!間)")
TIME_OF_DAY = lazy_pattern(
    rf"(?:\d{{1,2}}|[{_NUMERAL}]{{1,3}}) ?時(?!間)(?:半|\d{{1,2}}分)?|(?<!\d)\d{{1,2}}:\d{{2}}(?!\d)|正午"
)
NUMBER = lazy_pattern(
    r"(?<![\d.,A-Za-z])\d[\d,]{0,15}(?:\.\d{1,10})?(?!\d)(?! ?[年月日号](?!間))(?!(?:st|nd|rd|th)\b)"
    rf"|[{_NUMERAL}两数几]{{1,8}}(?=[个個人名次倍件小分周点円つ回種种元米吨万亿億萬余多成割天岁歳位枚台辆])"
    r"|\b(?:two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|thirty|forty|fifty|sixty|hundred|"
    r"thousand|million|billion|dozen|once|twice|half|none|zero|one)\b",
    re.IGNORECASE,
)
_SCALE = r" ?[万亿億千百多余]{0,3} ?"
MEASURE = lazy_pattern(
    rf"{_SCALE}(?:[%％‰个個人名位次倍件元米吨辆台座家支块枚部场条公里小时天周岁度点分级集轮届例所只头册款种年月美円つ回種"
    r"歳本階匹羽頭冊]|ドル|キロ|メートル|トン|ヘクタール|パーセント|km|m|cm|ha)"
)
# Patterns of a question about an amount, and of the unit in its answer.
UNITS = (
    (lazy_pattern("多少人|人数|几人|人次|何人"), lazy_pattern(rf"{_SCALE}[人名位例]")),
    (lazy_pattern("率|百分|割合|パーセント|percent"), lazy_pattern(" ?(?:[%％‰割]|个百分点|パーセント|percent)")),
    (
        lazy_pattern("多少钱|售价|价格|票房|营收|收入|奖金|金额|いくら"),
        lazy_pattern(rf"{_SCALE}(?:美?元|人民币|港元|欧元|円|ドル|[万亿])"),
    ),
    (lazy_pattern("多长|多高|距离|何メートル|何キロ"), lazy_pattern(" ?(?:米|公里|千米|km|m|メートル|キロ)")),
)

# A question about a setting, whose value has no unit.
VALUE = lazy_pattern("默认|[数初]?值|端口|参数|デフォルト|既定|規定値|初期値|ポート|引数")

CAPITALISED = lazy_pattern(
    r"(?<![A-Za-z])[A-Z][A-Za-z0-9'\-\u00c0-\u024f]{0,30}(?: (?:(?:of|the|de|van|von|&) )?[A-Z][A-Za-z'.\-]{0,30}){0,5}"
)
QUOTED = lazy_pattern(r"[《“「『\"]([^《》“”「」『』\"\n]{2,30})[》”」』\"]")
NAME_SEPARATOR = lazy_pattern("[·・](?=.)")
JAPANESE_PERSON = lazy_pattern(
    "[\u30a1-\u30fa\u30fc]{2,20}(?:[・＝=][\u30a1-\u30fa\u30fc]{1,20}){0,4}[\u4e00-\u9fff0-9]{0,3}|[\u4e00-\u9fff々]{2,8}"
)
JAPANESE_PLACE = lazy_pattern(
    "[\u4e00-\u9fff々]{1,6}[国県市州都町村島区山川湾海港府省道域洋駅]|[\u30a1-\u30fa\u30fc・]{2,20}[\u4e00-\u9fff]{0,3}"
)
PERSON_TAGS = frozenset(("nr", "nrt", "nrfg"))
PLACE_TAGS = frozenset(("ns", "nrt"))
THING_TAGS = frozenset(("n", "nr", "nrt", "ns", "nt", "nz", "vn", "eng"))
SURNAMES = frozenset(
    "王李张刘陈杨赵黄周吴徐孙胡朱高林何郭马罗梁宋郑谢韩唐冯于董萧程曹袁邓许傅沈曾彭吕苏卢蒋蔡贾丁魏薛叶阎余潘杜戴夏钟汪田任"
    "姜范方石姚谭廖邹熊金陆郝孔白崔康毛邱秦江史顾侯邵孟龙万段雷钱汤尹黎易常武乔贺赖龚文欧习温安岳庞翁管尚习司诸舒殷童辛"
)
