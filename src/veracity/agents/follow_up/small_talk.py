"""Small talk and the fixed replies to it (SPEC D3).

A message is small talk only if it contains nothing else: "Thanks, and what about Japan?" is a question. The replies
state nothing about documents, because they are not reviewed.
"""

from __future__ import annotations

import re
from typing import Literal

from veracity.agents.prompts import agent_text
from veracity.language import Language, normalized
from veracity.patterns import lazy_pattern

SmallTalk = Literal["greeting", "thanks", "farewell", "help"]

MAX_LENGTH = 120  # characters; longer messages are not small talk
KINDS_BY_PRIORITY: tuple[SmallTalk, ...] = ("help", "farewell", "thanks", "greeting")


def classify_small_talk(message: str) -> SmallTalk | None:
    """The kind of small talk, or None. "Thanks, bye!" is a farewell."""
    plain = " ".join(normalized(message).split())
    if not plain or len(plain) > MAX_LENGTH:
        return None
    kinds: set[str] = set()
    rest = FILLER.sub(" ", PHRASE.sub(lambda match: _collect(match, kinds), plain))
    if "thanks" in kinds:
        rest = THANKS_OBJECT.sub(" ", rest)
    if _WORD.search(rest) or (kinds == {"thanks"} and QUESTION.search(plain)):
        return None
    return next((kind for kind in KINDS_BY_PRIORITY if kind in kinds), None)


def reply_to_small_talk(kind: SmallTalk, language: Language) -> str:
    """The fixed reply."""
    return agent_text(language, f"small_talk_{kind}")


def _collect(match: re.Match[str], kinds: set[str]) -> str:
    kinds.add(str(match.lastgroup))
    return " "


_WORD = lazy_pattern(r"\w")

_HELP = (
    r"\bwhat (?:can|do) you do(?: for me)?\b|\bwho are you\b|\bwhat are you\b|\bhow (?:can|could|do) you help(?: me)?\b"
    r"|\bhow do you work\b|\bhow do i use (?:you|this)\b|\bcan you help(?: me)?\b"
    r"|^(?:i need )?help(?: me)?(?=[\s.!?]*$)"
    r"|你是谁|你是什么|你(?:能|可以|会)(?:为我|帮我)?(?:做|干)?(?:些)?什么|你有什么功能|(?:怎么|如何)(?:使用|用)你"
    r"|^帮助(?=[。!?？！]*$)|^帮帮?我(?=[。!?？！]*$)"
    r"|あなたは(?:誰|だれ|何)(?:ですか|なの)?|(?:あなたは)?何ができ(?:ますか|るの|る)|^使い方(?:を教えて(?:ください)?)?(?=[。!?]*$)"
    r"|^ヘルプ(?=[。!?]*$)|^(?:手伝って|助けて)(?:ください)?(?=[。!?]*$)"
)
_FAREWELL = (
    r"\b(?:good ?)?bye(?:[ -]?bye)?\b|\bsee (?:you|ya)(?: (?:later|soon|tomorrow|around))?\b|\bfarewell\b|\btake care\b"
    r"|\bgood night\b|\btalk to you (?:later|soon)\b|\bhave a (?:nice|good|great|lovely) (?:day|evening|weekend|one)\b"
    r"|再见|再會|拜拜|回头见|下次见|明天见|晚安"
    r"|さようなら|さよなら|バイバイ|またね|じゃあね|(?:では|じゃあ|それでは)?また(?:明日|今度|後で)?(?=[。!、\s]*$)|おやすみ(?:なさい)?"
    r"|失礼(?:いた)?します"
)
_THANKS = (
    r"\b(?:many |much )?thanks(?: a lot| a million| so much| very much| again)?(?: team)?\b"
    r"|\bthank (?:you|u)(?: team)?\b|\bthx\b|\bty\b|\bcheers\b"
    r"|\bmuch appreciated\b|\bi appreciate (?:it|that|your help)\b"
    r"|\b(?:that|this)(?: was|'s| is)? (?:very )?(?:helps?|helpful|great|perfect|useful)\b"
    r"|\b(?:ok(?:ay)?|great|perfect|awesome|excellent|wonderful|got it|i see|understood|nice|cool|well done|good job)\b"
    r"|谢谢(?:你|您)?(?:了|啦)?|多谢|感谢(?:你|您)?|辛苦(?:你|您)?了|好的|明白了?|知道了|了解(?:了|(?=[\s,，。!！]|$))|太好了|很好|收到"
    r"|(?:どうも)?ありがとう(?:ございます|ございました)?|感謝します|助かりました|どうも|了解(?:です|しました|(?=[\s、。!！]|$))"
    r"|[分わ]かりました|なるほど|承知しました|お疲れ様(?:です|でした)?"
)
_GREETING = (
    r"\b(?:hi|hello|hey|hiya|howdy|greetings)(?: team)?\b|\bgood (?:morning|afternoon|evening|day)\b"
    r"|\bhow are you(?: doing)?\b"
    r"|\bhow's it going\b|\bwhat's up\b|\bnice to meet you\b"
    r"|你好|您好|大家好|嗨|哈[喽啰]|早上好|上午好|中午好|下午好|晚上好|早安|你好吗|最近怎么样|很高兴认识你"
    r"|こんにちは|こんばんは|おはよう(?:ございます)?|はじめまして|初めまして|もしもし|お元気ですか|やあ"
    r"|よろしくお願い(?:いた)?します|よろしく"
)
PHRASE = lazy_pattern(
    rf"(?P<help>{_HELP})|(?P<farewell>{_FAREWELL})|(?P<thanks>{_THANKS})|(?P<greeting>{_GREETING})", re.IGNORECASE
)
# Filler words around small talk.
FILLER = lazy_pattern(
    r"\b(?:there|everyone|all|friend|veracity|so|really|again|and|well|oh|ah|please|now|then|today|just)\b"
    r"|你|您|的|了|啊|呀|啦|哦|嗯|吗|吧|非常|真的|十分|请问|那"
    r"|とても|大変|本当に|あの|えっと|ね|よ|です|いつも|を|に|は|、",
    re.IGNORECASE,
)
# Objects of thanks: "thanks for your help".
THANKS_OBJECT = lazy_pattern(
    r"\b(?:very|much|a|lot|for|your|the|help|that|this|it|you|answer|info|information)\b|帮助|回答|解答|お答え",
    re.IGNORECASE,
)
# Thanks in the form of a question are not small talk: "Understood?"
QUESTION = lazy_pattern("[?？]|吗[。.!！]*$|か[。.!！]*$")
