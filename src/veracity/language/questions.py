"""Splits a question into parts, and measures how far an answer addresses each: its words and the kind asked for."""

import re
from collections import Counter

from veracity.language import content_tokens, sentences
from veracity.patterns import lazy_pattern

ENOUGH = 0.6  # share of a part's words that an answer has to repeat: a good answer does not echo the question
KIND_SHARE = 0.4  # weight of the kind asked for (a date, a person, …) against the words
ADDRESSED = 0.5  # from this value on a part counts as addressed


def question_parts(question: str) -> list[str]:
    """Its sentences, split where questions are joined. Parts without a word of their own are dropped."""
    tidy = (" ".join(sentence.text.split()) for sentence in sentences(question))  # JOINT is slow on runs of spaces
    pieces = (piece.strip() for sentence in tidy for piece in JOINT.split(sentence))
    return list(dict.fromkeys(piece for piece in pieces if piece and (terms_of(piece) or kind_asked_for(piece))))


def terms_of(part: str) -> set[str]:
    """The words an answer would share. Single Han characters are dropped if there are longer words."""
    terms = set(content_tokens(ASKING.sub(" ", part)))
    return {term for term in terms if len(term) > 1 or term.isascii()} or terms


def kind_asked_for(part: str) -> str | None:
    """The kind of thing a part asks for: a key of `ANSWERS`."""
    return next((kind for kind, asked in ASKED.items() if asked.search(part)), None)


def needs_number(part: str) -> bool:
    """Whether only a number or a date answers. "How long" and "when" also ask for conditions ("until you leave"), and
    "how do I count how many" for a way."""
    return NUMBER_ASKED.search(part) is not None and WAY_ASKED.search(part) is None


def kinds_answered(submission: str) -> set[str]:
    """The kinds of things the submission contains."""
    return {kind for kind, sign in ANSWERS.items() if sign.search(submission)}


def parts_addressed(
    parts: list[str], given: set[str], kinds: set[str], enough: float = ENOUGH, kind_share: float = KIND_SHARE
) -> dict[str, float]:
    """For each part, from 0 to 1: how far its words are among the tokens `given`, and its kind among `kinds`."""
    shares = {part: _share(terms, given, enough) for part, terms in _own_terms(parts).items()}
    asked = {part: kind_asked_for(part) for part in shares}
    return {
        part: share if asked[part] is None else kind_share * (asked[part] in kinds) + (1 - kind_share) * share
        for part, share in shares.items()
    }


def _own_terms(parts: list[str]) -> dict[str, set[str]]:
    """The words only this part has; all of its words if there are none."""
    terms = {part: terms_of(part) for part in parts}
    count = Counter(term for of_part in terms.values() for term in of_part)
    return {part: {term for term in of_part if count[term] == 1} or of_part for part, of_part in terms.items()}


def _share(terms: set[str], given: set[str], enough: float) -> float:
    return min(1.0, len(terms & given) / len(terms) / enough) if terms else 0.0


# The joint between two questions.
JOINT = lazy_pattern(
    r"\s*;\s*"
    r"|,\s+(?=(?:who|whom|whose|what|when|where|why|which|how)\b)"
    r"|,?\s+(?:and|or|as well as|but)\s+(?=(?:also\s+)?(?:who|whom|whose|what|when|where|why|which|how|is|are|was|were|"
    r"do|does|did|can|could|will|would|should|has|have)\b)"
    r"|[，；]|以及|、(?=[^、]*(?:谁|什么|多少|多久|哪|为什么|如何|怎么|何|いつ|どこ|誰|なぜ|どう|いく))"
    r"|(?<=か)、|(?:、)?(?:また|そして|および)(?=.)",
    re.IGNORECASE,
)

# Question words, which an answer does not repeat.
ASKING = lazy_pattern(
    r"\b(?:who|whom|whose|what|when|where|why|which|how|many|much|long|often|please|tell|give|explain|describe|list|"
    r"name|compare|summari[sz]e|know|want|would|like|could|can|you|me|about|there)\b"
    r"|请问|请|介绍|说明|解释|列出|告诉|我|什么时候|什么|多少|多久|多长|谁|哪里|哪些|哪个|哪|为什么|如何|怎么样|怎么|怎样|几|吗|呢"
    r"|いつ|どこ|だれ|誰|なぜ|どうして|どのような|どのように|どのくらい|どれくらい|どう|いくつ|いくら|どの|どれ|何|"
    r"教えてください|教えて|説明してください|説明|ください|ですか|ますか|でしょうか",
    re.IGNORECASE,
)

# Words that ask for a kind of thing.
ASKED = {
    "amount": lazy_pattern(
        r"\bhow (?:many|much|long|often|far|old|tall|big|high|deep|fast)\b|多少|多久|多长|几[个天年月次人]"
        r"|いくつ|いくら|どのくらい|どれくらい|何[人個回日年件円]",
        re.I,
    ),
    "date": lazy_pattern(r"\bwhen\b|\bwhat (?:year|date|day|time)\b|什么时候|何时|哪[年天]|いつ|何[時月]", re.I),
    "person": lazy_pattern(r"\bwho(?:m|se)?\b|谁|誰|だれ", re.I),
    "place": lazy_pattern(r"\bwhere\b|哪里|哪儿|何处|どこ", re.I),
    "cause": lazy_pattern(r"\bwhy\b|为什么|为何|なぜ|どうして", re.I),
}

NUMBER_ASKED = lazy_pattern(
    r"\bhow (?:many|much)\b|\bwhen (?:was|were|did)\b|\bwhat (?:year|date)\b"
    r"|多少|几[个天年月次人]|哪一?[年天]|いくつ|いくら|何[人個回件円年月]",
    re.I,
)
WAY_ASKED = lazy_pattern(r"\bhow (?:do|does|can|could|should|to)\b|怎么|怎样|如何|どうやって|どのように|方法", re.I)

# Words that indicate an answer of that kind.
ANSWERS = {
    "amount": lazy_pattern(
        r"\d|[一二三四五六七八九十百千万两][个天年月日元次人倍件小分周点円つ回個]|無料|免费"
        r"|\b(?:no|one|two|three|four|five|six|seven|eight|nine|ten|once|twice|half|dozen|hundred|thousand|million|"
        r"free)\b",
        re.I,
    ),
    "date": lazy_pattern(
        r"\d|\b(?:january|february|april|june|july|august|september|october|november|december|monday|tuesday|wednesday|"
        r"thursday|friday|saturday|sunday|today|yesterday|tomorrow|century|noon|midnight)\b"
        r"|昨天|今天|明天|去年|今年|明年|昨日|今日|明日|昨年|来年|世纪|世紀|曜日|星期|周[一二三四五六日]",
        re.I,
    ),
    "person": lazy_pattern(
        r"(?<=[a-z,] )[A-Z][a-z]+|^[A-Z][a-z]+ [A-Z]|(?i:\b(?:customer|user|buyer|seller|team|company|store|author|"
        r"owner|manager|employee|we|he|she|they|nobody|everyone)s?\b)"
        r"|[人者家员長长氏様]|さん|公司|部门|先生|女士|经理|顾客|客户|店|会社|部署|お客"
    ),
    "place": lazy_pattern(
        r"(?:in|at|near|from) (?:the )?[A-Z][a-z]+|\b(?i:north|south|east|west|room|floor|street|building|city)\b"
        r"|[省市县区国州路街室楼層階県町村都府駅]|位于|にあり"
    ),
    "cause": lazy_pattern(
        r"\b(?:because|since|due to|owing to|so that|in order to|caused?|reasons?|as a result)\b"
        r"|因为|由于|因此|所以|为了|原因|ため|ので|によって|により|理由|からです",
        re.I,
    ),
}
