"""English questions from headings and sentences: a quantity, a date or a condition is asked for, or the sentence is
inverted. A sentence in any other form gives no question: without a parser its parts would be guesses.
"""

from __future__ import annotations

import re

MAX_WORDS = 15
MIN_PREDICATE = 3  # words after the subject of an inverted sentence


def ask_nothing(item: str, text: str) -> str:
    return ""


def ask_heading(heading: str, text: str) -> str:
    """A heading that is a question, an instruction ("Install the agent") or an activity ("Booking a trip")."""
    words = heading.split()
    if heading.endswith("?") and 3 <= len(words) <= MAX_WORDS and not _REFERS.search(heading):
        return heading
    if not 2 <= len(words) <= 8 or re.search(r"[.:;,!?()“\"/]", heading) or _REFERS.search(heading):
        return ""
    first, rest = words[0].lower(), " ".join(words[1:])
    if first == "how" and words[1] == "to" and len(words) > 3:
        return f"How do I {' '.join(words[2:])}?"
    if first in _IMPERATIVE:
        return f"How do I {first} {rest}?"
    if first.endswith("ing") and first not in _NOUN_ING and len(words) > 2:
        return f"How does {first} {rest} work?"
    return ""


def ask_sentence(sentence: str, text: str) -> str:
    if not _SENTENCE.fullmatch(sentence):
        return ""
    for form in (_ask_count, _ask_amount, _ask_point, _ask_definition, _ask_condition, _invert):
        question = form(sentence, text)
        if question:
            is_short = 4 <= len(question.split()) <= MAX_WORDS
            return question if is_short and not _REFERS.search(question) else ""
    return ""


def _ask_count(sentence: str, text: str) -> str:
    """Two engineers are on call. → How many engineers are on call?"""
    match = _COUNTED.match(sentence)
    return f"How many {_cut(match['rest'])}?" if match else ""


def _ask_amount(sentence: str, text: str) -> str:
    """Full-time staff receive 24 days of leave. → How many days of leave do full-time staff receive?"""
    match = _AMOUNT.match(sentence)
    if not match or not (parts := _verb_group(match, text)):
        return ""
    auxiliary, subject, verb = parts
    unit, rest = match["unit"].strip(), _cut(match["rest"]).strip()
    if re.fullmatch(_TIME, unit) and (match["modal"] or match["verb"].startswith(("last", "take", "stay", "wait"))):
        is_span = not rest and not _NO_SPAN.search(verb)
        return _join("How long", auxiliary, subject, verb.removesuffix(" for")) if is_span else ""
    if re.fullmatch(_MONEY, unit):
        return _join("How much", auxiliary, subject, verb, rest) if match["verb"] else ""
    is_countable = unit.split(" of ")[0].endswith("s") and not match["modal"]
    return _join("How many", unit, auxiliary, subject, verb, rest) if is_countable else ""


def _ask_point(sentence: str, text: str) -> str:
    """Newcomers join the rota after four months. → When do newcomers join the rota?"""
    match = _POINT.match(sentence)
    if not match or not (parts := _verb_group(match, text)):
        return ""
    if match["modal"] in ("is", "are") and not _PARTICIPLE.match(match["vp"]):
        return ""
    rest = (match["object"] or "").strip()
    return "" if re.search(rf"\b(?:{_NUMBER})\b", f"{parts[2]} {rest}") else _join("When", *parts, rest)


def _ask_definition(sentence: str, text: str) -> str:
    """The leave year is the calendar year. → What is the leave year?"""
    match = _DEFINED.match(sentence)
    if not match or not _is_subject(match["subject"]):
        return ""
    return f"What {match['modal']} {_lower(match['subject'], text)}?"


def _ask_condition(sentence: str, text: str) -> str:
    """Premium economy may be booked if the manager agrees. → When may premium economy be booked?"""
    match = _STATED.match(sentence)
    if not match or not _CONDITION.search(match["rest"]) or match["modal"] in ("will", "should"):
        return ""
    inverted = _invert(sentence, text)
    return f"When {inverted[0].lower()}{inverted[1:]}" if inverted else ""


def _invert(sentence: str, text: str) -> str:
    """A lost receipt can be replaced by a signed note. → Can a lost receipt be replaced by a signed note?"""
    match = _STATED.match(sentence)
    if not match or not _is_subject(match["subject"]) or match["rest"].startswith("not "):
        return ""
    if match["modal"] in ("is", "are") and not _PARTICIPLE.match(match["rest"]):
        return ""
    rest = _cut(match["rest"])
    is_whole = len(rest.split()) >= MIN_PREDICATE and not _HANGS.search(rest)
    return _join(match["modal"].capitalize(), _lower(match["subject"], text), rest) if is_whole else ""


def _verb_group(match: re.Match[str], text: str) -> tuple[str, str, str] | None:
    """The auxiliary, the subject and the verb as they follow in a question."""
    subject = match["subject"]
    if not _is_subject(subject):
        return None
    last = subject.split()[-1].lower()
    is_plural = (last.endswith("s") and not last.endswith("ss")) or last in _COLLECTIVE
    if match["modal"]:
        return match["modal"], _lower(subject, text), match["vp"].strip()
    verb = match["verb"]
    if verb in _THIRD and not is_plural:
        return "does", _lower(subject, text), _THIRD[verb]
    return ("do", _lower(subject, text), verb) if verb in _PLURAL and is_plural else None


def _is_subject(subject: str) -> bool:
    words = subject.lower().split()
    bare = words[1:] if words[0] in _DETERMINERS else words
    return bool(bare) and not any(word in _NO_SUBJECT for word in words) and not bare[-1].endswith(("ed", "ing"))


def _lower(subject: str, text: str) -> str:
    """Without the capital of the sentence, unless the word is a name: it has it within sentences, too."""
    word = subject.split(maxsplit=1)[0]
    is_name = not word[1:].islower() or re.search(rf"[a-z,;] {re.escape(word)}\b", text)
    return (
        subject if is_name and word.lower() not in _DETERMINERS and len(word) > 1 else subject[0].lower() + subject[1:]
    )


def _cut(rest: str) -> str:
    return _TAIL.sub("", rest.rstrip(".")).rstrip()


def _join(*parts: str) -> str:
    return " ".join(part for part in parts if part).rstrip(" .") + "?"


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


def _third_person(verb: str) -> str:
    if verb == "have":
        return "has"
    ending = "ies" if re.search("[^aeiou]y$", verb) else "es" if verb.endswith(("s", "sh", "ch", "x")) else "s"
    return f"{verb.removesuffix('y')}ies" if ending == "ies" else f"{verb}{ending}"


_SMALL = (
    "one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen|sixteen|eighteen|twenty|"
    "thirty|forty|fifty|sixty|ninety"
)
_NUMBER = rf"(?:\d[\d,.]*|(?:{_SMALL})(?:[ -](?:{_SMALL}|hundred|thousand|million))?|a hundred)"
_ABOUT = r"(?:up to|at least|at most|about|around|only|exactly|no more than|not more than|more than|fewer than|another)"
_TIME = r"(?:seconds?|minutes?|hours?|(?:working |calendar |business |full )?(?:days?|weeks?|months?|years?))"
_MONEY = r"(?:euros?|dollars?|pounds?|yen|yuan)"
_MONTH = "January|February|March|April|May|June|July|August|September|October|November|December"
_DAY = "Monday|Tuesday|Wednesday|Thursday|Friday|Saturday|Sunday"
_CLOCK = r"(?:\d{1,2}:\d{2}|noon|midnight)"
_DATE = (
    rf"(?:the )?(?:\d{{1,2}}(?:st|nd|rd|th)?(?: of)? (?:{_MONTH})|\d{{1,2}}(?:st|nd|rd|th)\b"
    rf"|{_MONTH}|{_DAY}|first |last |end of )"
)
_WHEN = (
    rf"(?:(?:within|after|before|in) (?:{_ABOUT} )?{_NUMBER} (?:[a-z]+ )?{_TIME}"
    rf"|(?:by|until|from|on|before|after|between) {_DATE}|(?:at|from|until|by|before|after|between) {_CLOCK})"
)
_WORD = r"[\w'’/&.-]*[\w'’]"
_SUBJECT = rf"(?P<subject>[A-Z][\w'’/&.-]*(?: {_WORD}){{0,6}}?)"
_MODAL = r"(?P<modal>is|are|can|may|must|should|will)"
_ADVERB = r"(?:(?:never|always|only|also|usually|normally|automatically|then|still) )?"
_PLURAL = _words("""
    have get receive cover last cost take need require include contain earn start begin end open close weigh measure pay
    keep hold return count expire rise change arrive join accept acknowledge give serve produce save offer provide stay
    wait stop review meet answer store send write read check retry remove delete lapse run show list use allow
""")
_THIRD = {_third_person(verb): verb for verb in _PLURAL}
_VERB = rf"(?P<verb>{'|'.join((*_THIRD, *_PLURAL))})"
_COLLECTIVE = ("staff", "people")
_DETERMINERS = ("the", "a", "an", "every", "your", "our", "any")
# A subject with one of these is a clause, or refers to another sentence.
_NO_SUBJECT = _words("""
    it this these that those they he she we i there here such its their his her them one both each other others another
    which who whom whose what when where while if because since although though unless as so but or nor and not no
    nobody in on at by for from to with without during after before until under over between about into per via then
    everything nothing everyone whoever most some many few also only more less all is are was were be been has have had
    can may must should will do does did
""")
_REFERS = re.compile(
    r"\b(?:it|its|this|these|those|they|their|them|he|she|his|her|such|above|below|following|here|there|former|latter|"
    r"otherwise|therefore|however|instead|same|we|us|our)\b",
    re.I,
)
_TAIL = re.compile(
    r"(?:,|;|:| –| -| \(| (?:if|unless|when|whenever|while|because|so that|as long as|as soon as|which|who|that|and|"
    r"but|only|up to|at least|at most|even|until|though|rather than|per|where)\b).*$"
)
_HANGS = re.compile(r"\b(?:in|for|by|of|to|with|at|on|from|the|a|an|or|within|after|before)$")
_NO_SPAN = re.compile(r"\b(?:after|within|by|before|in|at|from|every|once)$")
_CONDITION = re.compile(r" (?:if|when|unless|as soon as|as long as) ")
_PARTICIPLE = re.compile(
    r"\w+(?:ed|en)\b|(?:free|open|closed|optional|mandatory|available|paid|kept|made|sent|held|read|set|run|built|shown|"
    r"put|found|bound|cut|allowed|due|responsible)\b"
)
_SENTENCE = re.compile(r"[A-Z][^.!?]*(?:\d\.\d[^.!?]*)*\.")
_COUNTED = re.compile(rf"(?:{_ABOUT} )?(?!one\b|1\b){_NUMBER} (?P<rest>(?:[a-z][\w-]* )??[a-z][\w-]*s\b .+)", re.I)
_AMOUNT = re.compile(
    rf"{_SUBJECT} (?:{_MODAL} (?P<vp>(?:[a-z]+ ){{1,3}})|{_VERB} )(?:(?:for )?{_ABOUT} |for )?{_NUMBER}"
    rf"(?P<unit> {_MONEY}\b| (?:{_TIME}\b|(?!(?:and|or|to)\b)(?:[a-z-]+ )??[a-z-]+s\b)(?: of(?: [a-z-]+){{1,3}})?)"
    r"(?P<rest>[^.]*)\."
)
_POINT = re.compile(rf"{_SUBJECT} (?:{_MODAL} {_ADVERB}(?P<vp>[a-z][^,;:]*?)|{_VERB}(?P<object>[^,;:]*?)) {_WHEN}.*")
_DEFINED = re.compile(rf"(?P<subject>(?:The|A|An|Your)(?: {_WORD}){{2,5}}?) (?P<modal>is|are) (?:an?|the|{_NUMBER}) ")
_STATED = re.compile(rf"{_SUBJECT} {_MODAL} {_ADVERB}(?P<rest>[a-z].*)\.")
_IMPERATIVE = _words("""
    install add remove create write use run start stop set configure change delete update upgrade ask search read
    connect deploy send report book request claim register apply return order reset enable disable import export move
    restore check test build limit choose find share evaluate compare calibrate measure invite approve reject
""")
_NOUN_ING = _words("""
    training building meeting engineering pricing testing marketing housing parking funding hearing opening billing
    spring string morning evening everything nothing something during warning setting rating working
""")
