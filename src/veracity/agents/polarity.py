"""What turns the meaning of a question round: negations, exceptions and comparisons, counted by kind.

By form alone, in English, Chinese and Japanese. Knows nothing about what is negated or compared.
"""

from __future__ import annotations

import re
from collections import Counter

from veracity.language import Language, normalized


def polarity(text: str, language: Language) -> Counter[str]:
    """How often each kind stands in it: "no more than 5" is one upper bound, and no negation."""
    plain = NEUTRAL[language].sub(" ", normalized(text))
    return Counter(str(found.lastgroup) for found in TURNS[language].finditer(plain))


def is_negative(text: str, language: Language) -> bool:
    """It says what is not meant: "not in Osaka", "without Dublin"."""
    found = polarity(text, language)
    return bool(found["negation"] or found["exception"])


# What looks like one of them and turns nothing round.
NEUTRAL: dict[Language, re.Pattern[str]] = {
    "en": re.compile(
        r"^\W*no\b(?=[,.!])|\bi (?:don't|do not|didn't|did not) (?:know|understand|get (?:it|that))\b|\bno problem\b"
        r"|\b(?:i'm|i am) not sure\b|\bmore(?= (?:about|on|details?|info\w*|examples?)\b|\W*$)|\bor not\b",
        re.IGNORECASE,
    ),
    "zh": re.compile(
        r"([\u4e00-\u9fff])[不没]\1|[不没][\u4e00-\u9fff]?关系|不(?:同|过|仅|但|断|错|管|论|好意思)|差不多|对不起"
        r"|不丹|未来|无[论线锡]|[东西南北中]非|非[常洲]|超[市级]|不知道?(?=.)"
    ),
    "ja": re.compile(
        "(?:なければ|なくては|ないと)(?:なり|いけ)ません|(?:なければ|なくては|ないと)(?:なら|いけ)ない|かもしれ(?:ない|ません)"
        "|すみません|(?:くれ|ください|いただけ|もらえ|頂け)(?:ない|ません)|[少危]ない|もったいない|未来|非常|不動産|超級"
    ),
}
# The longer forms first: "no more than" is no "more".
TURNS: dict[Language, re.Pattern[str]] = {
    "en": re.compile(
        r"(?P<at_most>\b(?:at (?:the )?most|(?:no|not) (?:more|longer|later|higher|greater) than|up to|maximum)\b)"
        r"|(?P<at_least>\b(?:at (?:the )?least|(?:no|not) (?:less|fewer|shorter|earlier|lower) than|minimum)\b)"
        r"|(?P<exception>\b(?:without|except(?:ing)?|unless|excluding|other than|apart from|outside(?: of)?)\b)"
        r"|(?P<negation>\b(?:not|never|no|none|nobody|nothing|neither|nor|cannot)\b|n't\b)"
        r"|(?P<before>\b(?:before|prior to|earlier than)\b)|(?P<after>\b(?:after|later than)\b)"
        r"|(?P<more>\b(?:more|over|above|greater|longer|higher|larger|bigger|older|exceed(?:s|ed|ing)?)\b)"
        r"|(?P<less>\b(?:less|fewer|under|below|shorter|lower|smaller|younger)\b)",
        re.IGNORECASE,
    ),
    "zh": re.compile(
        "(?P<at_most>不(?:得|能|可)?(?:超过|多于|高于|大于|晚于)|[至最]多)|(?P<at_least>不(?:得|能|可)?(?:少于|低于|小于|早于)|[至最]少)"
        "|(?P<exception>以外|之外|除[了外非去开]?|除非)|(?P<less>以[下内]|之内|[少低小短]于|不到|不足|未满|更[少低小短])"
        "|(?P<more>以上|超过?|[多高大长]于|更[多高大长])|(?P<negation>[不没])|(?P<lack>[未无非])"
        "|(?P<before>[之以]前|早于)|(?P<after>[之以]后|晚于)"
    ),
    "ja": re.compile(
        "(?P<exception>以外|除[くいき]|を除)|(?P<less>以[下内]|未満|より(?:も)?(?:少|低|小|短|安))"
        "|(?P<more>以上|超(?:え|過)?|より(?:も)?(?:多|高|大|長))|(?P<before>より(?:も)?前|以前|前に|の前)"
        "|(?P<after>より(?:も)?後|以[後降]|後に|の後)|(?P<than>より)"
        "|(?P<negation>ない|ません|なく(?!な[るっり])|なし|無[いし]|[えけげせてねべめれかたならわ]ず(?!つ|か|っ|れ)|まずに)"
        "|(?P<lack>[不未非無])"
    ),
}
