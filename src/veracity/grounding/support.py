"""Scores how far texts support a sentence, and reports what is missing or contradicted.

The score is the mean of two coverages of the sentence's claims: by the best window of adjacent sentences, and by that
window together with further places, because a long sentence may draw on several. Each missing name lowers it. A wrong
number or a reversed statement puts it below the threshold. Texts in another language than the sentence are compared by
meaning (`translation.py`).
"""

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from veracity.deadlines import check_time
from veracity.grounding.claims import QUANTITY_WEIGHT, Reading, Word, is_side, other_side, quantity_key, read_claim
from veracity.grounding.pieces import Facets, Piece, Place, cuts, weight_found
from veracity.grounding.quantities import Quantity, agrees, differs
from veracity.language import Language, normalized, possible_languages
from veracity.language.citations import without_marks

# One threshold for every language and kind of text, measured by `benchmarks/grounding_wice.py`.
SUPPORT_THRESHOLD = 0.6

CONTRADICTION_FACTOR = 0.5
MISSING_NAME_FACTOR = 0.6
# A piece with this share of the sentence's words is about the same thing: a difference is a contradiction.
SAME_STATEMENT = 0.7
# Characters; longer than any sentence a person writes.
MAX_PART = 1200
MAX_REMEMBERED = 10_000  # checked sentences

Claims = Sequence[Word | Quantity]


@dataclass(frozen=True, slots=True)
class Support:
    """The support for a sentence and its place: `quote == texts[source][start:end]`.

    `missing` and `contradicted` hold parts of the sentence in its own words. `source` is -1 if nothing was found.
    """

    score: float
    supported: bool
    source: int
    quote: str
    start: int
    end: int
    missing: tuple[str, ...] = ()
    contradicted: tuple[str, ...] = ()


NOTHING_FOUND = Support(0.0, False, -1, "", 0, 0)


def support(sentence: str, text: str) -> Support:
    """Whether one text supports the sentence."""
    return EvidenceTexts([text]).support(sentence)


def checkable(sentence: str) -> bool:
    """Whether the sentence makes a claim that can be checked. "Yes." does not."""
    stated = without_marks(sentence)
    claims = (read_claim(stated[start:end]) for start, end in cuts(stated, MAX_PART))
    return any(claim.words or claim.quantities for claim in claims)


class EvidenceTexts:
    """Texts, split and indexed once, to check any number of sentences against. Can be shared by threads."""

    def __init__(self, texts: Sequence[str]) -> None:
        from veracity.grounding.piece_index import PieceIndex  # noqa: PLC0415 - imports NumPy

        self._texts = tuple(texts)
        self._index = PieceIndex(self._texts)
        self._checked: dict[tuple[str, tuple[int, ...]], Support] = {}
        self._languages: dict[int, frozenset[Language]] = {}

    def support(self, sentence: str, sources: Collection[int] | None = None) -> Support:
        """The best support for the sentence in all texts, or in those with the given indexes.

        A sentence copied from a text scores 1, one without a claim 0 (see `checkable`). A very long sentence is checked
        in parts and scores as its weakest part. Raises if the time for the work is up (see `deadlines.check_time`).
        """
        among = tuple(range(len(self._texts)) if sources is None else sorted(set(sources)))
        known = self._checked.get((sentence, among))  # several metrics ask, and answers repeat themselves
        if known is None:
            check_time()
            known = self._check(sentence, among)
            if len(self._checked) < MAX_REMEMBERED:
                self._checked[sentence, among] = known
        return known

    def _check(self, sentence: str, among: Sequence[int]) -> Support:
        if place := self._index.verbatim(sentence, among):
            return self._result(1.0, place)
        stated = without_marks(sentence).strip()
        parts = [self._part_support(stated[start:end], among) for start, end in cuts(stated, MAX_PART)]
        return replace(
            min(parts, key=lambda part: part.score),
            missing=tuple(missing for part in parts for missing in part.missing),
            contradicted=tuple(contradicted for part in parts for contradicted in part.contradicted),
        )

    def _part_support(self, stated: str, among: Sequence[int]) -> Support:
        """By words, and if they do not support it, by meaning from the texts in other languages."""
        by_words = self._support_by_words(stated, among)
        if by_words.supported or not checkable(stated):
            return by_words
        own = possible_languages(stated)
        foreign = [source for source in among if own.isdisjoint(self._languages_of(source))]
        supports = [self._support_by_meaning(stated, source) for source in foreign]
        return max((*supports, by_words), key=lambda found: found.score)

    def _languages_of(self, source: int) -> frozenset[Language]:
        if source not in self._languages:
            self._languages[source] = possible_languages(self._texts[source])
        return self._languages[source]

    def _support_by_meaning(self, stated: str, source: int) -> Support:
        from veracity.grounding import translation  # noqa: PLC0415 - imports NumPy

        found = translation.compare(stated, self._texts[source], self._index.pieces(source))
        if found is None:
            return NOTHING_FOUND
        score = found.score * MISSING_NAME_FACTOR ** len(found.names)
        if found.absent or found.contradicted or found.is_reversed:
            score *= CONTRADICTION_FACTOR
        return self._result(score, _span(found.window.pieces), (*found.absent, *found.names), found.contradicted)

    def _support_by_words(self, stated: str, among: Sequence[int]) -> Support:
        claim = read_claim(stated)
        window, further = self._index.window_and_further_places(_facets(claim), among)
        if not window:
            return Support(0.0, False, -1, "", 0, 0, _own_words(stated, [*claim.words, *claim.quantities]))
        score, missing, contradicted = _judge(claim, window, window + further)
        return self._result(score, _span(window), _own_words(stated, missing), _own_words(stated, contradicted))

    def _result(
        self, score: float, place: Place, missing: tuple[str, ...] = (), contradicted: tuple[str, ...] = ()
    ) -> Support:
        quote = self._texts[place.source][place.start : place.end]
        supported = score >= SUPPORT_THRESHOLD
        return Support(score, supported, place.source, quote, place.start, place.end, missing, contradicted)


def _span(window: Sequence[Piece]) -> Place:
    return Place(window[0].place.source, window[0].place.start, window[-1].place.end)


def _facets(claim: Reading) -> Facets:
    """Keys to look for. A repeated key counts once; a word with several keys splits its weight."""
    facets: dict[str, float] = defaultdict(float)
    for word in claim.words:
        for key in word.keys:
            facets[key] = max(facets[key], word.weight / len(word.keys))
    for quantity in claim.quantities:
        facets[quantity_key(quantity)] = QUANTITY_WEIGHT
    return facets


def _judge(claim: Reading, window: Sequence[Piece], spread: Sequence[Piece]) -> tuple[float, Claims, Claims]:
    """The score, the missing and the contradicted claims."""
    same = _same_statement(claim, window)
    other = [quantity for quantity in claim.quantities if differs(quantity, _quantities(same))]
    absent = [
        quantity for quantity in claim.quantities if quantity not in other and not agrees(quantity, _quantities(spread))
    ]
    turned = _reversed_keys(claim, same or window)
    unfound = [word for word in claim.words if not _is_found(word, spread)]
    reversals = [word for word in claim.words if not turned.isdisjoint(word.keys)]
    score = (_coverage(claim, window) + _coverage(claim, spread)) / 2
    score *= MISSING_NAME_FACTOR ** sum(word.is_name for word in unfound)
    only_numbers = bool(claim.words) and len(unfound) == len(claim.words)  # then the numbers belong to something else
    if other or absent or turned or only_numbers:
        score *= CONTRADICTION_FACTOR
    missing: Claims = [*absent, *(word for word in unfound if word not in reversals)]
    return score, missing, [*other, *reversals]


def _coverage(claim: Reading, pieces: Sequence[Piece]) -> float:
    """The share of the sentence, by weight, that occurs in the pieces."""
    keys = frozenset[str]().union(*(piece.keys for piece in pieces))
    known = _quantities(pieces)
    quantities = {quantity_key(q): QUANTITY_WEIGHT * agrees(q, known) for q in claim.quantities}
    facets = _facets(claim)
    found = sum(weight for key, weight in facets.items() if key in keys and key not in quantities)
    return (found + sum(quantities.values())) / sum(facets.values())


def _quantities(pieces: Sequence[Piece]) -> list[Quantity]:
    return [quantity for piece in pieces for quantity in piece.reading.quantities]


def _is_found(word: Word, pieces: Sequence[Piece]) -> bool:
    return all(any(key in piece.keys for piece in pieces) for key in word.keys)


def _same_statement(claim: Reading, window: Sequence[Piece]) -> list[Piece]:
    """The piece of the window about the same thing, ignoring numbers and direction; empty if there is none."""
    facets = {key: word.weight for word in claim.words for key in word.keys if not is_side(key)}
    closest = max(window, key=lambda piece: weight_found(facets, [piece]))
    enough = SAME_STATEMENT * sum(facets.values())
    return [closest] if facets and weight_found(facets, [closest]) >= enough else []


def _reversed_keys(claim: Reading, pieces: Sequence[Piece]) -> frozenset[str]:
    """Keys the sentence asserts and the pieces only negate, or the reverse, or whose opposite they state."""
    asserted = frozenset[str]().union(*(piece.reading.asserted for piece in pieces))
    denied = frozenset[str]().union(*(piece.reading.denied for piece in pieces))
    known = asserted | denied
    # A name within reach of a "not" is rarely what is negated.
    stated = {key for word in claim.words if not word.is_name for key in word.keys}
    turned: set[str] = set()
    if not claim.denied & denied & stated:  # with a shared negation, its reach is a matter of style
        turned |= (claim.asserted - claim.denied) & (denied - asserted)
        turned |= (claim.denied - claim.asserted) & (asserted - denied)
    opposed = {key for key in stated if is_side(key) and key not in known and other_side(key) in known - stated}
    return frozenset(turned & stated | opposed)


def _own_words(stated: str, missing: Claims) -> tuple[str, ...]:
    """Claims as the sentence spells them, in order; overlapping ones are joined."""
    plain = normalized(stated)
    text = stated if len(stated) == len(plain) else plain
    spans: list[list[int]] = []
    for start, end in sorted({(part.start, part.end) for part in missing}):
        if spans and start < spans[-1][1]:
            spans[-1][1] = max(spans[-1][1], end)
        else:
            spans.append([start, end])
    return tuple(text[start:end] for start, end in spans)
