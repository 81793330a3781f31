"""Small talk: what is said for courtesy's sake, and what is replied (SPEC D3).

A message is small talk only where nothing else is said in it: "Thanks, and what about Japan?" is a question. The
replies are fixed and state nothing about documents, since nobody examines them. Knows nothing about routes.
"""

from __future__ import annotations

import re
from typing import Literal

from veracity.language import Language, normalized

Courtesy = Literal["greeting", "thanks", "farewell", "help"]

LONGEST = 120  # characters; who writes more has something to say


def small_talk(message: str) -> Courtesy | None:
    """The kind of it, the telling one where there are several: "Thanks, bye!" is a farewell."""
    plain = " ".join(normalized(message).split())
    if not plain or len(plain) > LONGEST:
        return None
    kinds: set[str] = set()
    rest = FILLER.sub(" ", PHRASE.sub(lambda found: _taken(found, kinds), plain))
    if "thanks" in kinds:
        rest = FOR_WHAT.sub(" ", rest)
    if _SAID.search(rest) or (kinds == {"thanks"} and ASKED.search(plain)):
        return None
    return next((kind for kind in KINDS if kind in kinds), None)


def reply(courtesy: str, language: Language) -> str:
    """The fixed reply; that to a call for help where the kind is not known."""
    replies = REPLIES[language]
    return replies.get(courtesy, replies["help"])


def _taken(found: re.Match[str], kinds: set[str]) -> str:
    kinds.add(str(found.lastgroup))
    return " "


KINDS: tuple[Courtesy, ...] = ("help", "farewell", "thanks", "greeting")  # the more telling first
_SAID = re.compile(r"\w")

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
PHRASE = re.compile(
    rf"(?P<help>{_HELP})|(?P<farewell>{_FAREWELL})|(?P<thanks>{_THANKS})|(?P<greeting>{_GREETING})", re.IGNORECASE
)
# What may stand beside it and says nothing.
FILLER = re.compile(
    r"\b(?:there|everyone|all|friend|veracity|so|really|again|and|well|oh|ah|please|now|then|today|just)\b"
    r"|你|您|的|了|啊|呀|啦|哦|嗯|吗|吧|非常|真的|十分|请问|那"
    r"|とても|大変|本当に|あの|えっと|ね|よ|です|いつも|を|に|は|、",
    re.IGNORECASE,
)
# What thanks are given for.
FOR_WHAT = re.compile(
    r"\b(?:very|much|a|lot|for|your|the|help|that|this|it|you|answer|info|information)\b|帮助|回答|解答|お答え",
    re.IGNORECASE,
)
# Who asks does not thank: "Understood?"
ASKED = re.compile("[?？]|吗[。.!！]*$|か[。.!！]*$")

REPLIES: dict[Language, dict[str, str]] = {
    "en": {
        "greeting": "Hello! What would you like to know?",
        "thanks": "You are welcome. Ask whenever you would like to know something else.",
        "farewell": "Goodbye!",
        "help": "Ask me a question: I look for the answer in the documents of this workspace, cite the places it "
        "stands on, and say so where they do not hold it.",
    },
    "zh": {
        "greeting": "你好！你想了解什么？",
        "thanks": "不客气。还想了解什么，随时可以问。",
        "farewell": "再见！",
        "help": "请提出问题：我会在这个工作区的文档中寻找答案，标明依据的出处；文档中没有答案时，也会如实说明。",
    },
    "ja": {
        "greeting": "こんにちは。何をお知りになりたいですか。",
        "thanks": "どういたしまして。ほかに知りたいことがあれば、いつでもお尋ねください。",
        "farewell": "さようなら。",
        "help": "質問してください。このワークスペースの文書から答えを探し、根拠の箇所を示します。"
        "答えがない場合は、そのとおりお伝えします。",
    },
}
