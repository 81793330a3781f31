"""Explicit requests for earlier answers or for a web search, recognized by their form (SPEC D3, D4).

Only plain requests count: "How do I search the web?" is a question for the documents.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Literal

from veracity.language import normalized, sentences
from veracity.patterns import lazy_pattern

MAX_LENGTH = 400  # characters; longer texts are not requests


def parse_recall_request(question: str) -> str | None:
    """The topic to find in earlier answers, empty if the request has no topic; None if it is not such a request."""
    plain = _normalize(question)
    if len(sentences(plain)) > 1 and not SPANS_SENTENCES.match(plain):
        return None
    return _find_topic(plain, RECALL_PATTERNS)


def parse_web_request(question: str) -> str | None:
    """The topic to search the web for, empty if the request has no topic; None if it is not such a request."""
    return _find_topic(_normalize(question), WEB_PATTERNS)


def parse_turn_request(question: str) -> Literal["first", "last"] | None:
    """The requested turn, for a recall request without a topic."""
    if parse_recall_request(question) != "":
        return None
    return "first" if FIRST.search(_normalize(question)) else "last"


def mentions_conversation(question: str) -> bool:
    """Whether any word refers to the conversation. Otherwise the question cannot ask for earlier answers."""
    return CONVERSATION_WORDS.search(_normalize(question)) is not None


def _normalize(question: str) -> str:
    plain = " ".join(normalized(question).split())
    return plain if len(plain) <= MAX_LENGTH else ""


def _find_topic(plain: str, patterns: Iterable[re.Pattern[str]]) -> str | None:
    """The text without the words of the request; None if no pattern matches."""
    match = next((match for pattern in patterns if plain and (match := pattern.search(plain))), None)
    if match is None:
        return None
    rest = f"{plain[: match.start()]} {match.groupdict().get('kept') or ''} {plain[match.end() :]}"
    for pattern in FRAMING_PATTERNS:
        rest = pattern.sub(" ", rest)
    rest = " ".join(rest.split()).strip(" ,.;:!?、。，；：「」“”\"'")
    return "" if NO_TOPIC.fullmatch(rest) else rest


_EARLIER = r"(?:just |already |also |earlier |before |previously )?"
_SAID = r"(?:say|said|tell|told|answer(?:ed)?|mention(?:ed)?|explain(?:ed)?|ask(?:ed)?|discuss(?:ed)?|talk(?:ed)?)"
_ABOUT = r"(?: (?:about|on|of|regarding|concerning|to|for)\b)?"
# Requests to repeat an answer, or for the first or last question.
REPEAT_PATTERNS = (
    lazy_pattern(
        r"^(?:please |sorry,? |(?:can|could|would) you (?:please )?)*(?:say (?:it|that|this) (?:again|once more)"
        r"|repeat(?: (?:it|that|this|yourself))?(?: again| once more)?|tell me (?:(?:it|that|this) )?again|come again)"
        r"(?:,? please)?[.?!]*$",
        re.IGNORECASE,
    ),
    lazy_pattern(
        r"^(?:and |so )?what (?:was|is) the (?:very )?(?:first|last) (?:thing|question|answer) (?:that )?(?:you|i|we) "
        rf"(?:have |had )?{_EARLIER}{_SAID}(?: me| you)?[.?!]*$",
        re.IGNORECASE,
    ),
    lazy_pattern(
        "^(?:请|麻烦|你|您|能不能|可以|能|那)*(?:再(?:说|讲|回答|重复)(?:一[遍次下])|重复(?:一[遍次下])|再来一[遍次])(?:吗|吧|好吗)?[。?!]*$"
    ),
    lazy_pattern(
        "^(?:请问|那么?)?(?:我|你|您)?(?:们)?(?:的)?(?:第一个?|最初的?|最早的?|一开始的?|上一?个?|最后一?个?|前一个|上次的?)(?:次)?(?:的)?"
        "(?:问题|提问|回答|答案|答复|问)(?:了|的)?(?:是|说)?(?:了)?(?:什么|啥)?(?:来着)?[。?!]*$"
    ),
    lazy_pattern(
        "^(?:すみません[、,]?|では[、,]?)?(?:もう(?:一度|一回|いちど)|再度)?(?:(?:それ|今の|さっきの)(?:を|は)?)?"
        "(?:(?<=一度)|(?<=一回)|(?<=いちど)|(?<=再度))(?:言って|繰り返して|答えて|教えて|お願いし)[ぁ-ん]{0,10}[。?!]*$"
    ),
    lazy_pattern("^(?:それを|今のを)?繰り返して[ぁ-ん]{0,8}[。?!]*$"),
    lazy_pattern(
        "^(?:(?:私|僕|あなた)(?:の|が))?(?:最初|一番目|はじめ|初め|最後|直前|前|一つ前|さっき|先ほど)(?:の|に)"
        "(?:質問|回答|答え)(?:は|を|って)?(?:何|なん)?(?:でした|だった|です)?(?:っけ|か)?(?:もう一度(?:お願い)?[ぁ-ん]{0,8})?[。?!]*$"
    ),
    lazy_pattern(
        "^(?:私は)?(?:最初|はじめ|初め)に(?:何を?|なんと)(?:聞き|聞い|質問し|尋ね|言い|答え)[ぁ-ん]{0,8}[。?!]*$"
    ),
)
FIRST = lazy_pattern(
    r"\b(?:first|at the (?:beginning|start)|begin with|to start with|originally)\b"
    "|第一|最初|最早|一开始|一番目|はじめ|初め",
    re.IGNORECASE,
)
RECALL_PATTERNS = (
    lazy_pattern(
        rf"\b(?:what|which|how|when|where)\b(?P<kept>[^?]{{0,40}}?) (?:did|have|had) (?:you|we|i) {_EARLIER}{_SAID}\b"
        rf"(?: to)?(?: me| us| you)?(?: {_EARLIER.strip()[:-1]})?{_ABOUT}",
        re.IGNORECASE,
    ),
    lazy_pattern(
        rf"\b(?:remind me|tell me again|repeat|recall|show me again)\b(?: of)?(?: what)? ?(?:you|we|i)?"
        rf"(?: have| had)? ?{_EARLIER}{_SAID}\b(?: to)?(?: me| us| you)?{_ABOUT}",
        re.IGNORECASE,
    ),
    lazy_pattern(
        r"\b(?:repeat|recall|show|what (?:was|were)|remind me of|summari[sz]e|go back to|look (?:up|through)|search)\b"
        r"[^?]{0,12} ?\b(?:your|my|our|the) (?:(?:last|previous|first|earlier|past) (?:answers?|questions?|"
        rf"repl(?:y|ies)|turns?|conversations?)|conversation|chat)\b(?: so far)?{_ABOUT}",
        re.IGNORECASE,
    ),
    lazy_pattern(
        r"^(?:so |but |and |wait,? |earlier,? |before,? )*(?:(?:did(?:n't)?|have(?:n't)?) you|you)(?: not)? "
        rf"{_EARLIER}(?:said|told me|tell me|mentioned|mention|say|explained|answered)\b(?: earlier| before)?"
        r"(?: that| about)?(?=[^?]{0,200}\?$)",
        re.IGNORECASE,
    ),
    lazy_pattern(
        "(?:你|您|我们?|咱们)(?:刚才|刚刚|之前|前面|上次|先前|方才|早些时候|曾经?|一开始|最初)(?:跟我|对我|给我|和我|向我)?"
        "(?:说|讲|提|回答|告诉|解释|问|聊|谈|介绍)(?:到|过|了|起|我)*(?:的|关于)?(?:是?什么|哪些|怎么)?"
    ),
    lazy_pattern(
        "(?:刚才|刚刚|之前|前面|上次|先前|方才)(?:你|您|我们?|咱们)?[^,，。?？]{0,20}?"
        "(?:告诉(?:过)?我|(?:你|您|我)(?:说|问|答|提)|回答(?:过|了|我)|问(?:过|了)|说(?:过|了|的)|提到(?:过|了)?|聊(?:过|到))"
        "(?:的|了|过)*(?:是?什么|哪些)?"
    ),
    lazy_pattern("(?:你|您|我)(?:说|讲|提到|回答|告诉我|问)过(?:我)?(?:的|关于)?(?:是?什么|哪些)?"),
    lazy_pattern(
        "(?:检索|搜索|查找|查看|回顾|回忆|根据|参考|总结)(?:一下)?(?:我们|之前|前面|历史|的)*"
        "(?:上下文|对话(?:记录|历史)?|聊天记录|上文|(?:之前|前面|历史)的?(?:回答|问题|内容))(?:中|里|里面)?"
    ),
    lazy_pattern(
        "(?:さっき|先ほど|さきほど|前に|以前|この前|前回|先程)(?P<kept>[^。?？]{0,60}?)"
        "(?:と|を|は|って|について)*(?:何を?|なんて|何と)?"
        "(?:言い|言っ|言わ|おっしゃ|教えて(?:くれ|もら|いただ|くださ)|答え|話し|説明し|お?聞きし?|尋ね|質問し|伺い|聞い)"
        "[ぁ-ん]{0,10}(?:か|こと|内容)?"
    ),
    lazy_pattern("(?:前回|これまで|以前|先ほど|さっき)の(?:回答|答え|質問|会話|やり取り|やりとり|話)"),
    lazy_pattern(
        "(?:会話|文脈|履歴|やり取り)(?:の(?:履歴|内容))?(?:を|から)(?:検索|振り返|要約|まとめ|探)[ぁ-んし]{0,8}"
    ),
    lazy_pattern("(?:あなた|私)は(?:何を?|なんと)(?:言い|答え|聞き|質問し|尋ね)[ぁ-ん]{0,6}"),
    *REPEAT_PATTERNS,
)
CONVERSATION_WORDS = lazy_pattern(
    r"\b(?:said|told|asked|answered|mentioned|explained|discussed|talked|spoken?|remind|remember|recall|repeat|earlier|"
    r"previous(?:ly)?|conversation|chat|(?:did(?:n't)?|have(?:n't)?|had) (?:you|we|i))\b"
    "|[说讲问聊谈][过了到的]|[你您我](?:说|讲|问)|告诉过|提到|回答|之前|刚才|刚刚|前面|上次|上文|上下文|对话|记得|回顾|总结"
    "|言[いっわ]|聞[いき]|話し|教えてくれ|答え|質問し|さっき|先ほど|さきほど|前[に回]|以前|会話|履歴|覚えて|要約|振り返",
    re.IGNORECASE,
)
SPANS_SENTENCES = lazy_pattern("(?:检索|搜索|查找|回顾|根据)")

_PLEASE = (
    r"(?:(?:please|kindly|can you|could you|would you|will you|i want you to|let's|just|go|now|then|and|ok|okay),? )*"
)
_ON_THE_WEB = (
    r"(?:(?:on |in |through |over )?(?:the )?(?:web|internet)|online)"
    r"(?=$|[,.;:?!]| (?:for|about|to|and|please|instead|what|who|how|when|where|why|which|whether|if)\b)"
    r"(?: (?:for|about)\b)?"
)
_SEARCH = r"(?:search|look|check|browse|find|google|web[ -]search|do a web search|run a web search|look it up)"
WEB_PATTERNS = (
    lazy_pattern(rf"^{_PLEASE}{_SEARCH}\b(?P<kept>[^.?!]{{0,200}}?) ?\b{_ON_THE_WEB}", re.IGNORECASE),
    lazy_pattern(
        rf"^{_PLEASE}(?:google|web[ -]search|(?:do|run) a web search)\b(?: for| about| on)?(?= )", re.IGNORECASE
    ),
    lazy_pattern(
        rf"(?<=[,.;:?!]) ?{_PLEASE}{_SEARCH}\b(?: (?:it|that|this))?(?: up)?(?: for it)? {_ON_THE_WEB}", re.IGNORECASE
    ),
    lazy_pattern(
        "(?:^|(?<=[,，。?？;；]))(?:请|麻烦|你|您|帮我|帮忙|能不能|可不可以|可以|能|再|去|给我|替我|那|就)*"
        "(?:上网|在网上|到网上|网上|联网|在互联网上?|从网上|用网络|百度|谷歌)(?:去|帮我|给我)?"
        "(?:搜索一下|搜一下|搜一搜|搜索|搜搜|搜|查一下|查一查|查查|查找|查|找一下|找找|找|检索|一下)(?!询|的|功能|引擎|服务|系统|记录|索|一)"
    ),
    lazy_pattern("(?:请|帮我|麻烦)?(?:搜索|检索|搜一下|查一下)(?:一下)?(?:网络|互联网|网页|网上)(?!的|安全|设置)"),
    lazy_pattern(
        "(?:ウェブ|Web|web|ネット|インターネット|グーグル|Google|google)(?:上)?(?:で|を|から)(?P<kept>[^。?]{0,60}?)を?"
        "(?:検索|調べ|探し|さがし)(?:し)?て(?!も|い|は|から)(?:み)?(?:て)?(?:ください|下さい|くれ(?:ますか|る|ませんか)?|ほしい|もらえますか)?"
    ),
    lazy_pattern("ググって(?:ください|くれ(?:る|ますか)?|みて)?"),
)
# Words around the topic of a request.
FRAMING_PATTERNS = (
    lazy_pattern(
        r"^\W*(?:please|so|but|and|ok|okay|wait|can you|could you|would you|do you remember|earlier|before)\b,?", re.I
    ),
    lazy_pattern(r"\b(?:earlier|before|previously|just now|again|last time|a moment ago|please|so far)\W*$", re.I),
    lazy_pattern(r"^\W*(?:(?:it |that |this )?up\b)?(?: ?(?:about|on|of|regarding|concerning|that|for|to)\b)?", re.I),
    lazy_pattern(
        "^[,，、 ]*(?:请问|请|关于|你|您|我|帮我|那么|那|告诉我)"
        "|(?:的(?:问题|内容|事情?|信息)|什么|哪些|是什么|来着|吗|呢|了)[?？。 ]*$"
    ),
    lazy_pattern(
        "(?:について|に関して|のこと|を|は|って|と)?(?:何(?:を|と|て)?|教えて(?:ください)?|ください)?[。?？ ]*$"
    ),
)
NO_TOPIC = lazy_pattern(
    r"(?:it|that|this|them|these|those|there|what|me|us|you|i|we|is|are|do|did|have|up|for|about|first|last|things?|\W)*|[它他她这那个些是什么的了吗]*|[これそあの何かをはで]*",
    re.IGNORECASE,
)
