"""Classifies how a question depends on the conversation before it, with language patterns (SPEC D3)."""

from __future__ import annotations

import re
from collections import Counter
from typing import Literal, NamedTuple

from veracity.agents.extract.keywords import Keyword, blank, extract_keywords
from veracity.language import Language, guess_language, jieba, normalized
from veracity.language.questions import ASKING
from veracity.language.scripts import HAN, HIRAGANA, KATAKANA
from veracity.patterns import lazy_pattern

Kind = Literal["alone", "thin", "parallel", "bare", "pointing"]

MAX_LENGTH = 300  # characters; a longer question is taken as self-contained
MAX_THIN_LENGTH = 20  # characters in Chinese and Japanese
MAX_THIN_WORDS = 2
MIN_ANTECEDENT_WORDS = 2  # in a clause before a pronoun, which then refers to that clause


class Dependence(NamedTuple):
    """`kind` is "alone" for no dependence, "thin" for a short question that may depend, "parallel" for the same
    question about another subject, "bare" for a question without a subject, and "pointing" for a reference back.
    `other` is the other subject: "in Osaka" in "and in Osaka?"."""

    kind: Kind
    other: str = ""


def classify_dependence(question: str, language: Language) -> Dependence:
    plain = LEADING_THANKS.sub("", " ".join(normalized(question).split()))
    if not plain or len(plain) > MAX_LENGTH:
        return Dependence("alone")
    for pattern in PARALLEL[language]:
        match = pattern.match(plain)
        if match and _names_a_thing(match["other"], language):
            return Dependence("bare" if _is_negative(plain, language) else "parallel", match["other"].strip())
        if match and CONDITION[language].match(match["other"]):
            return Dependence("bare")
    if not subject_keywords(VAGUE_WORDS[language].sub(blank, plain), language):
        return Dependence("bare")
    if _refers_back(plain, language):
        return Dependence("pointing")
    return Dependence("thin" if IS_THIN[language](plain) else "alone")


def subject_keywords(text: str, language: Language) -> list[Keyword]:
    """The keywords of a text that may be its subject, with positions in the normalized text."""
    return extract_keywords(FILLER_WORDS.sub(blank, normalized(text)), language)


def looks_like_name(word: Keyword, plain: str) -> bool:
    """Whether the word is a number, katakana, or capitalized other than at the start of the text."""
    written = plain[word.start : word.end]
    has_capital = written != written.lower() and (word.start > 0 or guess_language(plain) != "en")
    return written[:1].isdigit() or has_capital or KATAKANA_RUN.match(written) is not None


def polarity(text: str, language: Language) -> Counter[str]:
    """Counts negations, exceptions and comparisons: "no more than 5" is an upper bound, not a negation."""
    plain = NOT_POLAR[language].sub(" ", normalized(text))
    return Counter(str(match.lastgroup) for match in POLARITY[language].finditer(plain))


def _is_negative(text: str, language: Language) -> bool:
    """Whether the text excludes something: "not in Osaka", "without Dublin"."""
    counts = polarity(text, language)
    return bool(counts["negation"] or counts["exception"])


def _names_a_thing(other: str, language: Language) -> bool:
    """Whether the phrase is a name, neither a clause nor a reference back."""
    return (
        not REFERENCES[language].search(other) and not CLAUSE.search(other) and bool(subject_keywords(other, language))
    )


def _refers_back(plain: str, language: Language) -> bool:
    """Whether a word refers to the conversation rather than to an earlier clause of the question."""
    text = NOT_REFERRING[language].sub(blank, plain)
    return any(language != "en" or not _has_antecedent(text, match) for match in REFERENCES[language].finditer(text))


def _has_antecedent(plain: str, pronoun: re.Match[str]) -> bool:
    before = plain[: pronoun.start()]
    if POSSESSIVE.fullmatch(pronoun[0]):
        return len(subject_keywords(before, "en")) >= MIN_ANTECEDENT_WORDS
    clauses = list(CLAUSE_ENDS.finditer(before))
    return bool(PERSONAL.fullmatch(pronoun[0]) and clauses) and (
        len(subject_keywords(before[: clauses[-1].start()], "en")) >= MIN_ANTECEDENT_WORDS
    )


def _is_thin_english(plain: str) -> bool:
    """Whether the question has no name and presupposes its subject: one keyword, "the", or not a whole sentence."""
    words = subject_keywords(plain, "en")
    if len(words) > MAX_THIN_WORDS or any(looks_like_name(word, plain) for word in words):
        return False
    return len(words) == 1 or DEFINITE.search(plain) is not None or CLAUSE.search(plain) is None


def _is_thin_chinese(plain: str) -> bool:
    """Whether the question has a verb without an object: 谁来审批？"""
    tags = [tag for _, tag in jieba.tag(ASKING.sub(" ", WHEN.sub(" ", plain)).strip())]
    return len(plain) <= MAX_THIN_LENGTH and "v" in tags and not any(tag[0] in "nmtjil" or tag == "eng" for tag in tags)


def _is_thin_japanese(plain: str) -> bool:
    """Whether the question has a verb without an object: 誰が承認しますか？"""
    return len(plain) <= MAX_THIN_LENGTH and PREDICATE_ALONE.fullmatch(plain) is not None


_LEAD_IN = r"(?:(?:and|but|or|so|then|ok(?:ay)?|well|thanks|thank you|great|cool|interesting|i see)[,.!]* )*"
# Thanks before a question.
LEADING_THANKS = lazy_pattern(
    r"^(?:(?:(?:ok(?:ay)?|thanks(?: a lot| so much)?|thank you(?: so much| very much)?)[,.!]*|(?:great|good|perfect|"
    r"cool|nice|got it|i see|alright|right|understood)[,.!]+) )+(?=\w)"
    "|^(?:(?:谢谢[你您]?|多谢|感谢|好的|好|明白了?|知道了|了解了?|嗯|收到)[了啦]?[,，。.!！、 ]+)+"
    "|^(?:(?:どうも)?(?:ありがとう(?:ございます|ございました)?|(?:分|わ)かりました|なるほど"
    "|了解(?:です|しました)?|はい)[、。,.!！ ]+)+",
    re.IGNORECASE,
)
WHEN = lazy_pattern("什么时[候间]|多久|几[天时]|多长时间")
_QUESTION_WORD = (
    "(?:誰|だれ|どなた|いつ|どこ|どう(?:やって|すれば)?|どのように|何時?|なに|どちら|いくら|どれくらい)?"
    "(?:が|に|で|から|まで|を|へ)?"
)
PREDICATE_ALONE = lazy_pattern(
    f"{_QUESTION_WORD}(?:また|もう|まだ|すぐに?)?[{HAN}]{{1,4}}(?:[りしきいちみ][{HAN}]{{1,2}})?"
    f"(?![はがをのにへともや]|で(?![すき])|から|まで|より)[{HIRAGANA}]*(?:ます|ません|ました|(?<=必要)です|(?<=可能)です|る|た|ない)か?[?？。]*"
)
IS_THIN = {"en": _is_thin_english, "zh": _is_thin_chinese, "ja": _is_thin_japanese}
PARALLEL: dict[Language, tuple[re.Pattern[str], ...]] = {
    "en": (
        lazy_pattern(rf"{_LEAD_IN}(?:what|how) about (?P<other>[^.?!]{{1,60}})[.?!]*$", re.I),
        lazy_pattern(
            r"(?:(?:ok|okay|so|well|then) )?(?:and|but|or) "
            r"(?P<other>(?:(?:in|at|for|on|of|with|from|to|under|during|by|after|before) )?"
            r"[^.?!,]{1,50})[.?!]*$",
            re.I,
        ),
    ),
    "zh": (
        lazy_pattern("(?:那么?|还有|而)?[,，]?(?P<other>[^,，。?？]{1,24}?)(?:呢|怎么样|又如何|如何)[?？。]*$"),
        lazy_pattern("(?:那么?|如果是|换成|改成)(?P<other>[^,，。?？]{1,16}?)[?？]+$"),
    ),
    "ja": (
        lazy_pattern(
            "(?:では|じゃあ|それでは|それなら|でも|また|そして)[、,]? ?(?P<other>[^、,。?？]{1,24}?)"
            "(?:の場合)?(?:では|には|で|は|なら|だと)?(?:どう(?:ですか|でしょうか|なりますか|なの)?)?(?:か)?[?？。]*$"
        ),
        lazy_pattern(
            "(?P<other>[^、,。?？]{1,24}?)(?:の場合)?(?:では|には|は|なら|だと)"
            "(?:どう(?:ですか|でしょうか|なりますか|なの)?[?？。]*|[?？])$"
        ),
    ),
}
# A clause that only adds a condition: "What about when I travel?".
CONDITION: dict[Language, re.Pattern[str]] = {
    "en": lazy_pattern(r"(?:if|when|while|once|unless)\b", re.I),
    "zh": lazy_pattern("如果|要是|假如|万一|当"),
    "ja": lazy_pattern("[^、。]{1,24}(?:場合|とき|時)$"),
}
# Words that occur in clauses, not in names.
CLAUSE = lazy_pattern(
    r"\b(?:is|are|was|were|do|does|did|can|could|will|would|should|has|have|what|who|how|when|where|why|which|if|that|"
    r"i|you|we)\b|[是有]|什么|多少|怎么|多[大长久高]|何|ですか|ますか|する|した",
    re.IGNORECASE,
)
# Words that are never the subject of a question.
FILLER_WORDS = lazy_pattern(
    r"\b(?:wow|woah|okay|ok|interesting|cool|great|nice|awesome|amazing|hmm|yeah|yes|no|hey|thanks|thank|fair enough|"
    r"got it|i see|sorry|oops|wait|(?:i|you|we|they|let|he|she|it|that|what|who|how)'\w{1,2}|don't|isn't|aren't|"
    r"tell|know|think|want|like|get|please|really|just|also|then)\b",
    re.IGNORECASE,
)
# Words that ask for more without naming a subject.
VAGUE_WORDS: dict[Language, re.Pattern[str]] = {
    "en": lazy_pattern(
        r"\b(?:more|specific(?:ally)?|vague|general|details?|detailed|elaborate|examples?|exactly|sure|true|else|mean|"
        r"meant|say|said|go|going|continue|further|explain|reasons?|information|info|things?|something|right|correct|"
        r"sounds?|happen(?:s|ed)?|next|possible|good|bad|better|best|works?|important|different|differences?|compare|"
        r"clarify|another|others?|first|second|third|last|two|ones?|likely|alternatives?|recommend|help)\b",
        re.I,
    ),
    "zh": lazy_pattern(
        "详细|具体|更多|例子|举例|为什么|原因|继续|解释|说明|真的|意思|还有|其他|别的|比如|一下|一点|说说|讲讲|展开"
    ),
    "ja": lazy_pattern(
        "詳しく|具体的|もっと|例|理由|なぜ|どうして|続け|説明|本当|意味|ほか|他|たとえば|教え|ください|について|もう少し"
    ),
}
# Phrases with a pronoun that does not refer back.
NOT_REFERRING: dict[Language, re.Pattern[str]] = {
    "en": lazy_pattern(
        r"\b(?:is|are|was|were|isn't|aren't|will) (?:there|it (?:true|possible|necessary|safe|worth|better|important|"
        r"legal|okay|ok|normal|common|best|good|bad|safer))\b|\bthere (?:is|are|was|were)\b|\bit (?:is|was|takes?|'s) "
        r"(?:not )?(?:possible|necessary|important|true|to)\b|\bit (?:rains|snows)\b|\bsame as\b|\bsuch as\b"
        r"|\bso that\b|\bthat (?:i|you|we|the|a|an|can|could|are|has|have|will|would|should|make|made|were|there)\b"
        r"|\bthis (?:year|month|week|morning|evening)\b|\b(?:each|one) (?:other|another)\b|\bone of the\b",
        re.I,
    ),
    "zh": lazy_pattern("其他|其中|其实|尤其|与其|应该|本该|其余"),
    "ja": lazy_pattern("その他|そのまま|そのうち|それぞれ|この度|これから|このように|ここ数年"),
}
KATAKANA_RUN = lazy_pattern(f"[{KATAKANA}]{{2}}")
POSSESSIVE = lazy_pattern(r"its|their|his|her|hers|theirs", re.I)
DEFINITE = lazy_pattern(r"\b(?:the|I meant?)\b", re.I)
PERSONAL = lazy_pattern(r"it|it's|they|they're|them|he|him|she|her|ones?|there", re.I)
CLAUSE_ENDS = lazy_pattern(r"[,.;:?!]|\b(?:and|but|or|if|when|because|so)\b", re.I)
REFERENCES: dict[Language, re.Pattern[str]] = {
    "en": lazy_pattern(
        r"\b(?:it|its|it's|they|them|their|theirs|they're|this|these|those|he|him|his|she|her|hers|there|such|same|"
        r"former|latter|ones?|another|others?|else|instead)\b|\bthat(?:'s)?(?=$|[ ]?[,.;?!]| (?:is|was|be|mean|work|"
        r"cost|happen|help|affect|different|one|kind|type|\w+\W*$))|\b(?:about|of|for|with|like|to|on|do|does|did|is|was|"
        r"in|from|by|after|before|than|at) that\b|\bthe (?:first|second|third|last) (?:one|two|step)\b",
        re.I,
    ),
    "zh": lazy_pattern(
        "[它他她]们?|这(?:个|些|种|样|里|家|款|项|次|位|儿)?|那(?:个|些|种|样|里|家|款|项|次|位|儿|么)?|此(?!外)|该|其"
        "|上述|前者|后者|同样|两者|另一"
    ),
    "ja": lazy_pattern("それ|その|そこ|そちら|あれ|あの|これ|この|ここ|彼女?|彼ら|同じ|前者|後者|両方|もう一つ"),
}
# Phrases that contain a polarity word without its meaning.
NOT_POLAR: dict[Language, re.Pattern[str]] = {
    "en": lazy_pattern(
        r"^\W*no\b(?=[,.!])|\bi (?:don't|do not|didn't|did not) (?:know|understand|get (?:it|that))\b|\bno problem\b"
        r"|\b(?:i'm|i am) not sure\b|\bmore(?= (?:about|on|details?|info\w*|examples?)\b|\W*$)|\bor not\b",
        re.IGNORECASE,
    ),
    "zh": lazy_pattern(
        r"([\u4e00-\u9fff])[不没]\1|[不没][\u4e00-\u9fff]?关系|不(?:同|过|仅|但|断|错|管|论|好意思)|差不多|对不起"
        r"|不丹|未来|无[论线锡]|[东西南北中]非|非[常洲]|超[市级]|不知道?(?=.)"
    ),
    "ja": lazy_pattern(
        "(?:なければ|なくては|ないと)(?:なり|いけ)ません|(?:なければ|なくては|ないと)(?:なら|いけ)ない|かもしれ(?:ない|ません)"
        "|すみません|(?:くれ|ください|いただけ|もらえ|頂け)(?:ない|ません)|[少危]ない|もったいない|未来|非常|不動産|超級"
    ),
}
# Longer forms first: "no more than" is not "more".
POLARITY: dict[Language, re.Pattern[str]] = {
    "en": lazy_pattern(
        r"(?P<at_most>\b(?:at (?:the )?most|(?:no|not) (?:more|longer|later|higher|greater) than|up to|maximum)\b)"
        r"|(?P<at_least>\b(?:at (?:the )?least|(?:no|not) (?:less|fewer|shorter|earlier|lower) than|minimum)\b)"
        r"|(?P<exception>\b(?:without|except(?:ing)?|unless|excluding|other than|apart from|outside(?: of)?)\b)"
        r"|(?P<negation>\b(?:not|never|no|none|nobody|nothing|neither|nor|cannot)\b|n't\b)"
        r"|(?P<before>\b(?:before|prior to|earlier than)\b)|(?P<after>\b(?:after|later than)\b)"
        r"|(?P<more>\b(?:more|over|above|greater|longer|higher|larger|bigger|older|exceed(?:s|ed|ing)?)\b)"
        r"|(?P<less>\b(?:less|fewer|under|below|shorter|lower|smaller|younger)\b)",
        re.IGNORECASE,
    ),
    "zh": lazy_pattern(
        "(?P<at_most>不(?:得|能|可)?(?:超过|多于|高于|大于|晚于)|[至最]多)|(?P<at_least>不(?:得|能|可)?(?:少于|低于|小于|早于)|[至最]少)"
        "|(?P<exception>以外|之外|除[了外非去开]?|除非)|(?P<less>以[下内]|之内|[少低小短]于|不到|不足|未满|更[少低小短])"
        "|(?P<more>以上|超过?|[多高大长]于|更[多高大长])|(?P<negation>[不没])|(?P<lack>[未无非])"
        "|(?P<before>[之以]前|早于)|(?P<after>[之以]后|晚于)"
    ),
    "ja": lazy_pattern(
        "(?P<exception>以外|除[くいき]|を除)|(?P<less>以[下内]|未満|より(?:も)?(?:少|低|小|短|安))"
        "|(?P<more>以上|超(?:え|過)?|より(?:も)?(?:多|高|大|長))|(?P<before>より(?:も)?前|以前|前に|の前)"
        "|(?P<after>より(?:も)?後|以[後降]|後に|の後)|(?P<than>より)"
        "|(?P<negation>ない|ません|なく(?!な[るっり])|なし|無[いし]|[えけげせてねべめれかたならわ]ず(?!つ|か|っ|れ)|まずに)"
        "|(?P<lack>[不未非無])"
    ),
}
