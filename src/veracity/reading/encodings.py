"""From bytes to characters: finds out in which encoding a text was saved.

What announces itself (a byte order mark) or proves itself (UTF-8) is believed. Otherwise every encoding in use is
tried and the most plausible outcome taken; the usual detectors are weak on short Chinese and Japanese texts. Knows
nothing about what the text is.
"""

from __future__ import annotations

import codecs
import re
import unicodedata
from collections.abc import Callable, Iterable
from functools import cache
from importlib import import_module
from typing import Literal

from veracity.reading.base import clean, skipped

Family = Literal["japanese", "simplified", "traditional", "korean", "latin", "unicode"]

_FREQUENT: dict[Family, str] = {
    "simplified": (
        "的一是不了在人有我他这个们中来上大为和国地到以说时要就出会可也你对生能而子那得于着下自之年过发后作里用道行所然家种事成方多"
        "经么去法学如都同现当没动面起看定天分还进好小部其些主样理心她本前开但因只从想实日军者意无力它与长把机十民第公此已工使情明性"
        "知全三又关点正业外将两高间由问很最重并物手应战向头文体政美相见被利什二等产或新己制身果加西斯月话合回特代内信表化老给世位次"
        "度门任常先海通教儿原东声提立及比员解水名真论处走义各入几口认条平系气题活更别打女变四神总何电数安少报才结反受目太量再感建务"
        "做接必场件计管期市直德资命山金指许统区保至队形社便空决治展马科司五基书非则听白界达光放强即难且权思王象完设式色路记南品住告"
        "类求据程北边张该交规万取拉格望术领共确传师观清今切院让识候带导争运请您价密码网络服务器文档每天周星期日历史用户"
    ),
    "traditional": (
        "的一是不了在人有我他這個們中來上大為和國地到以說時要就出會可也你對生能而子那得於著下自之年過發後作裡用道行所然家種事成方多"
        "經麼去法學如都同現當沒動面起看定天分還進好小部其些主樣理心她本前開但因只從想實日軍者意無力它與長把機十民第公此已工使情明性"
        "知全三又關點正業外將兩高間由問很最重並物手應戰向頭文體政美相見被利什二等產或新己制身果加西斯月話合回特代內信表化老給世位次"
        "度門任常先海通教兒原東聲提立及比員解水名真論處走義各入幾口認條平系氣題活更別打女變四神總何電數安少報才結反受目太量再感建務"
        "做接必場件計管期市直德資命山金指許統區保至隊形社便空決治展馬科司五基書非則聽白界達光放強即難且權思王象完設式色路記南品住告"
        "類求據程北邊張該交規萬取拉格望術領共確傳師觀清今切院讓識候帶導爭運請您價密碼網絡服務器檔每天週星期歷史用戶"
    ),
    "japanese": (
        "日一国人年大十二本中長出三時行見月後前生五間上東四今金九入学高円子外八六下来気小七山話女北午百書先名川千水半男西電校語木聞食"
        "車何南万毎白天母火右読友左休父雨会同事自社発者地業方新場員立開手力問代明動京目通言理体田主題意不作用度強公持野以思家世多正安"
        "院心界教文元重近考画海売知道集別物使品計死特私始朝運終台広住真有口少町料工建空急止送切転研足究楽起着店病質待試族銀早映親験英"
        "医仕去味写字答夜音注帰古歌買悪図週室歩風紙黒花春赤青館屋色走秋夏習駅洋旅服政議民連対部合市内相定回選米実関決全表戦経最現調化"
        "当約首法性要制治務成期取都和機平加受続進数記初指権支産点報済活原共得解交資予向際勝面告反判認参利組信在件側任引求所次論官増係"
        "感情投示変打直両式確果容必能位置流格過局放常状職与供役構割費付由説難優断石違消神番規術備害配育席訪乗残想声念助労例然限追商伝働"
    ),
    "korean": (
        "이다는을의에가고하지를로은한기사도어서인대자해나아시리일수정들그라과보으만있적전제원있니게스상주여장부구조러위신성되세공유면"
        "연국경동모무비용분계관요문않된방것와며같오중우안생소실회선개체물발학음때행없말까했었습더내터저치트미드할및합당본영간현명진후양"
    ),
}
_TYPICAL_PUNCTUATION = frozenset("、。，．：；？！「」『』（）“”‘’《》【】〈〉·・…—～ー〜－　％￥")
_TYPICAL_LATIN = frozenset("“”‘’„‚«»‹›–—…€£§°©®™·•×½¼¾²³±µ¿¡ªº\xa0\xad")
_PRIVATE, _UNASSIGNED, _CONTROL_PLAUSIBILITY = "Co", "Cn", "Cc"
_HIGH_RUN = re.compile("[\x80-\U0010ffff]+")
_IMPOSSIBLE = -10.0


def plausibility(text: str, family: Family) -> float:
    """From about 3 for text that is surely right down to below zero; plain ASCII says nothing and gives 0."""
    high = sum(len(run) for run in _HIGH_RUN.findall(text))
    if not high:
        return 0.0
    if family == "latin":
        return sum(map(_latin_run, _HIGH_RUN.findall(text))) / high
    if family == "unicode":
        cjk: tuple[Family, ...] = ("japanese", "simplified", "traditional", "korean", "latin")
        return max(plausibility(text, other) for other in cjk)
    weight = _WEIGHTS[family]
    return sum(weight(character) for character in text if character > "\x7f") / high


def _latin_run(run: str) -> float:
    """Accented letters stand alone or in pairs between plain ones; a longer run is something else."""
    if len(run) > 2:
        return -3.0 * len(run)
    return sum(2.0 if _is_latin_letter(one) else 1.5 if one in _TYPICAL_LATIN else _odd(one) for one in run)


def _is_latin_letter(character: str) -> bool:
    return character.isalpha() and character < "\u0180"


def _odd(character: str) -> float:
    bad = character == "\ufffd" or unicodedata.category(character) in {_PRIVATE, _UNASSIGNED, _CONTROL_PLAUSIBILITY}
    return _IMPOSSIBLE if bad else -1.0


def _japanese(character: str) -> float:
    if "\u3041" <= character <= "\u3096":
        return 3.0
    if "\u30a1" <= character <= "\u30fa":
        return 2.0
    if "\uff61" <= character <= "\uff9f":  # half-width katakana: what Latin and EUC bytes look like in Shift_JIS
        return -0.5
    return _han(character, "japanese")


def _korean(character: str) -> float:
    if character in _frequent("korean"):
        return 3.0
    if "\uac00" <= character <= "\ud7a3":
        return 0.5 if character in _first_level("korean") else -4.0
    return 2.0 if character in _TYPICAL_PUNCTUATION else -2.0 if _is_han(character) else _odd(character)


def _simplified(character: str) -> float:
    return _han(character, "simplified")


def _traditional(character: str) -> float:
    return _han(character, "traditional")


def _han(character: str, family: Family) -> float:
    if character in _frequent(family):
        return 3.0
    if character in _TYPICAL_PUNCTUATION:
        return 2.0
    if "\uff01" <= character <= "\uff5e":
        return 1.0
    if _is_han(character):
        return 1.0 if character in _first_level(family) else -1.0 if character in _second_level(family) else -4.0
    return _odd(character)


def _is_han(character: str) -> bool:
    return "\u3400" <= character <= "\u9fff" or "\uf900" <= character <= "\ufaff" or character >= "\U00020000"


_WEIGHTS: dict[Family, Callable[[str], float]] = {
    "japanese": _japanese,
    "simplified": _simplified,
    "traditional": _traditional,
    "korean": _korean,
}
# Where each standard keeps its first and its second level: codec, then the lead bytes of either.
_LEVELS: dict[Family, tuple[str, range, range]] = {
    "japanese": ("euc_jp", range(0xB0, 0xD0), range(0xD0, 0xF5)),
    "simplified": ("gb2312", range(0xB0, 0xD8), range(0xD8, 0xF8)),
    "traditional": ("big5", range(0xA4, 0xC7), range(0xC9, 0xFA)),
    "korean": ("euc_kr", range(0xB0, 0xC9), range(0xCA, 0xFE)),
}


@cache
def _frequent(family: Family) -> frozenset[str]:
    return frozenset(_FREQUENT[family])


@cache
def _first_level(family: Family) -> frozenset[str]:
    codec, first, _ = _LEVELS[family]
    return frozenset(_characters(codec, first))


@cache
def _second_level(family: Family) -> frozenset[str]:
    codec, _, second = _LEVELS[family]
    return frozenset(_characters(codec, second))


def _characters(codec: str, leads: Iterable[int]) -> str:
    pairs = (bytes((lead, trail)) for lead in leads for trail in range(0x40, 0xFF))
    return "".join(pair.decode(codec, errors="ignore") for pair in pairs)


SAMPLE = 8_192  # bytes that are judged; so many tell as much as all
MOST_CONTROLS = 0.02
CERTAIN = 1.0  # plausibility above which no other opinion is asked for
LEAST = 0.0

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16: its mark begins with that of UTF-16
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
    (b"\x84\x31\x95\x33", "gb18030"),
)
_WIDE = ("utf-32-le", "utf-32-be", "utf-16-le", "utf-16-be")
_LEGACY: tuple[tuple[str, Family], ...] = (
    ("cp1252", "latin"),
    ("cp932", "japanese"),
    ("euc_jp", "japanese"),
    ("gb18030", "simplified"),
    ("big5hkscs", "traditional"),
    ("cp949", "korean"),
)
# What documents call an encoding, and the larger one that is meant by it.
_LARGER = {
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "shift_jis": "cp932",
    "euc_kr": "cp949",
    "big5": "big5hkscs",
    "iso8859-1": "cp1252",
    "ascii": "cp1252",
}
_ISO_2022_JP = re.compile(rb"\x1b[$(][@BJ]")
_HIGH = re.compile(rb"[\x80-\xff]")
_CONTROL = re.compile("[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f]")


def decode(content: bytes, declared: str = "") -> str:
    """The text in clean characters; what is not text is refused. `declared` is what the document says of itself."""
    text = content.decode(encoding_of(content, declared), errors="replace")
    if _is_binary(text[:SAMPLE]):
        raise skipped("it is not text (binary data of an unknown kind)")
    return clean(text)


def encoding_of(content: bytes, declared: str = "") -> str:
    for mark, encoding in _MARKS:
        if content.startswith(mark):
            return encoding
    sample = content[:SAMPLE]
    if b"\0" in sample or _is_binary(sample.decode("latin-1")):
        return _wide(sample)
    if _ISO_2022_JP.search(sample) and _fits(content, "iso2022_jp_ext"):
        return "iso2022_jp_ext"
    if _fits(content, "utf-8"):
        return "utf-8"
    known = _known(declared)
    if known and _fits(content, known):
        return known
    return _most_plausible(content)


def _wide(sample: bytes) -> str:
    """Which of the encodings whose bytes look like controls; without a good one, the controls stay for all to see."""
    scores = {encoding: _wide_score(sample, encoding) for encoding in _WIDE}
    best = max(scores, key=lambda encoding: scores[encoding])
    return best if scores[best] > LEAST else "latin-1"


def _wide_score(sample: bytes, encoding: str) -> float:
    text = _start(sample, encoding)
    if not text or len(_CONTROL.findall(text)) > MOST_CONTROLS * len(text):
        return -10.0
    plain = sum(" " <= character <= "~" or character in "\t\r\n" for character in text)
    return (plain * 3.0 + (len(text) - plain) * plausibility(text, "unicode")) / len(text)


def _most_plausible(content: bytes) -> str:
    first = _HIGH.search(content)
    start = first.start() if first else 0
    sample = content[start : start + SAMPLE]  # what comes before the first byte above ASCII tells nothing
    scores = {encoding: _score(sample, encoding, family) for encoding, family in _LEGACY}
    scores |= {encoding: _score(content[:SAMPLE], encoding, "unicode") for encoding in ("utf-16-le", "utf-16-be")}
    best = max(scores, key=lambda encoding: scores[encoding])
    if scores[best] >= CERTAIN:
        return best
    opinion = _other_opinion(sample)
    if opinion and _fits(content, opinion):
        return opinion
    if _start(sample, "utf-8").count("\ufffd") * 200 < len(sample):  # UTF-8 with a broken spot
        return "utf-8"
    return best if scores[best] > LEAST else "latin-1"


def _other_opinion(sample: bytes) -> str:
    """For Cyrillic, Greek and whatever else there is. Loaded only then."""
    found = import_module("charset_normalizer").from_bytes(sample).best()
    return str(found.encoding) if found is not None else ""


def _score(sample: bytes, encoding: str, family: Family) -> float:
    text = _start(sample, encoding)
    odd_bytes = family == "unicode" and len(sample) % 2
    broken = text.count("\ufffd") * 200 > len(text)
    return -10.0 if odd_bytes or broken or _is_binary(text) else plausibility(text, family)


def _start(sample: bytes, encoding: str) -> str:
    """The sample decoded; a character that its end cuts in two is left out."""
    return codecs.getincrementaldecoder(encoding)(errors="replace").decode(sample)


def _fits(content: bytes, encoding: str) -> bool:
    try:
        content.decode(encoding)
    except (UnicodeDecodeError, LookupError):
        return False
    return True


def _known(declared: str) -> str:
    """Python's name of a text encoding; empty for names that are unknown or no text encoding."""
    try:
        name = codecs.lookup(declared.strip().replace("x-sjis", "shift_jis")).name if declared else ""
        "".encode(name or "utf-8")
    except (LookupError, ValueError):
        return ""
    return _LARGER.get(name, name)


def _is_binary(text: str) -> bool:
    return len(_CONTROL.findall(text)) > MOST_CONTROLS * len(text)
