"""What a question asks for: its parts, their words, and the kind of thing each wants. No metric itself."""

import re

from veracity.language import content_tokens, sentences


def question_parts(question: str) -> list[str]:
    """Its sentences, cut where one question is joined to the next; parts with no word of their own are left out."""
    pieces = [piece.strip() for sentence in sentences(question) for piece in JOINT.split(sentence.text)]
    return list(dict.fromkeys(piece for piece in pieces if piece and (terms_of(piece) or kind_asked_for(piece))))


def terms_of(part: str) -> set[str]:
    """The words an answer would share. A single Han character says little where longer words stand beside it."""
    terms = set(content_tokens(ASKING.sub(" ", part)))
    return {term for term in terms if len(term) > 1 or term.isascii()} or terms


def kind_asked_for(part: str) -> re.Pattern[str] | None:
    return next((answer for asked, answer in KINDS if asked.search(part)), None)


# Where one question ends and the next begins.
JOINT = re.compile(
    r"\s*;\s*"
    r"|,\s+(?=(?:who|whom|whose|what|when|where|why|which|how)\b)"
    r"|,?\s+(?:and|or|as well as|but)\s+(?=(?:also\s+)?(?:who|whom|whose|what|when|where|why|which|how|is|are|was|were|"
    r"do|does|did|can|could|will|would|should|has|have)\b)"
    r"|[，；]|以及|、(?=[^、]*(?:谁|什么|多少|多久|哪|为什么|如何|怎么|何|いつ|どこ|誰|なぜ|どう|いく))"
    r"|(?<=か)、|(?:、)?(?:また|そして|および)(?=.)",
    re.IGNORECASE,
)

# Words that ask: an answer does not repeat them.
ASKING = re.compile(
    r"\b(?:who|whom|whose|what|when|where|why|which|how|many|much|long|often|please|tell|give|explain|describe|list|"
    r"name|compare|summari[sz]e|know|want|would|like|could|can|you|me|about|there)\b"
    r"|请问|请|介绍|说明|解释|列出|告诉|我|什么时候|什么|多少|多久|多长|谁|哪里|哪些|哪个|哪|为什么|如何|怎么样|怎么|怎样|几|吗|呢"
    r"|いつ|どこ|だれ|誰|なぜ|どうして|どのような|どのように|どのくらい|どれくらい|どう|いくつ|いくら|どの|どれ|何|"
    r"教えてください|教えて|説明してください|説明|ください|ですか|ますか|でしょうか",
    re.IGNORECASE,
)

_AMOUNT = (
    r"\d|[一二三四五六七八九十百千万亿億两]|\b(?:no|one|two|three|four|five|six|seven|eight|nine|ten|once|twice|"
    r"half|dozen|hundred|thousand|million)\b"
)
_DATE = (
    r"\d|\b(?:january|february|march|april|may|june|july|august|september|october|november|december|monday|tuesday|"
    r"wednesday|thursday|friday|saturday|sunday|today|yesterday|tomorrow|century|noon|midnight)\b|[年月日世紀纪]|昨|今|明"
)
_PERSON = (
    r"(?<=[a-z,] )[A-Z][a-z]+|^[A-Z][a-z]+ [A-Z]|\b(?:customer|user|buyer|seller|team|company|author|owner|we|i|he|she|"
    r"they|nobody|everyone)\b|[\u4e00-\u9fff\u30a1-\u30fa]{2,}"
)
_PLACE = r"(?<=[a-z,] )[A-Z][a-z]+|\b(?:in|at|on|near|from|to|under|inside)\b|[\u4e00-\u9fff\u30a1-\u30fa]{2,}"
_CAUSE = (
    r"\b(?:because|since|due|owing|therefore|so that|in order|caused?|reasons?|as a result)\b"
    r"|因为|由于|因此|所以|为了|原因|ため|ので|から|理由|によ"
)

# What is asked for, by the words that ask for it, and the sign of such an answer.
KINDS = [
    (re.compile(asked, re.IGNORECASE), re.compile(answer, 0 if answer in (_PERSON, _PLACE) else re.IGNORECASE))
    for asked, answer in (
        (r"\bhow (?:many|much|long|often|far|old|tall|big|high|deep|fast)\b|多少|多久|多长|几[个天年月次人]"
         r"|いくつ|いくら|どのくらい|どれくらい|何[人個回日年件円]", _AMOUNT),
        (r"\bwhen\b|\bwhat (?:year|date|day|time)\b|什么时候|何时|哪[年天]|いつ|何[時月]", _DATE),
        (r"\bwho(?:m|se)?\b|谁|誰|だれ", _PERSON),
        (r"\bwhere\b|哪里|哪儿|何处|どこ", _PLACE),
        (r"\bwhy\b|为什么|为何|なぜ|どうして", _CAUSE),
    )
]  # fmt: skip
