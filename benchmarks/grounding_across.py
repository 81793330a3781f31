"""Does a passage support a sentence in another language? Calibrates and measures `veracity.grounding.translation`.

    python -m benchmarks.grounding_across CLONES [--statements 150]

CLONES is the directory of `benchmarks.cross_lingual`. A statement is a sentence of a translated paragraph (XQuAD:
encyclopedia; Vue: guide). The same paragraph in the other language supports it; the paragraphs before and after it do
not. Prints

- for each direction the AUC of the similarity and of the score after the vetoes, and the balanced accuracy at the fixed
  `SUPPORT_THRESHOLD`;
- how many statements stay supported, and how many of those with one number changed, or negated by rule;
- how many right statements each veto refuses, and how many wrong ones that the similarity alone would accept;
- the constants `BIAS` and `SLOPE`, fitted on one source and tested on the other, and on both: the last are those of
  the product.

What did not help:
- vectors of whole paragraphs instead of sentences: AUC .85 to .91 instead of .94 to .98;
- vectors of windows instead of sums of their sentences' vectors: no difference, three times the time;
- windows without a price for length: AUC -.005 on single sentences; no windows: -.015 on two sentences joined;
- the share of names or Latin words, or the similarity of the other sentences, as further signals: up to three points
  on both sources, but their coefficients have another sign on each of them.
"""

from __future__ import annotations

import argparse
import json
import random
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.cross_lingual import HEADING, XQUAD, read, vue_pages
from benchmarks.grounding_wice import auc, balanced_accuracy
from benchmarks.logistic import Numbers, fit_logistic
from veracity.grounding import SUPPORT_THRESHOLD, EvidenceTexts, checkable
from veracity.grounding.piece_index import PieceIndex
from veracity.grounding.translation import Comparison, compare, similarity
from veracity.language import guess_language, sentences

SOURCES = ("XQuAD", "Vue")
DIRECTIONS = (("XQuAD", "zh", "en"), ("XQuAD", "en", "zh"), ("Vue", "ja", "en"), ("Vue", "en", "ja"))
ANSWERS = 0.75  # score of the threshold for questions: the approval threshold
RIDGE = 1e-3
MIN_LETTERS = 40  # of a statement; a Han or kana character counts as three
FENCE = re.compile(r"^(```|~~~).*?^\1[^\n]*$|^<script.*?</script>|\A---.*?^---$", re.MULTILINE | re.DOTALL)
TAG_LINE = re.compile(r"^:::.*$|^ *<.*$", re.MULTILINE)
LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")
MARKUP = re.compile(r"<[^>]+>|\*\*")

Paragraph = dict[str, str]  # by language
Article = list[Paragraph]


@dataclass(frozen=True)
class Pair:
    statement: str
    text: str
    is_true: bool


@dataclass(frozen=True)
class Scored:
    pair: Pair
    found: Comparison
    score: float

    @property
    def is_supported(self) -> bool:
        return self.score >= SUPPORT_THRESHOLD


VETOES: dict[str, Callable[[Comparison], bool]] = {
    "quantities": lambda found: bool(found.absent) or len(found.contradicted) > found.is_reversed,
    "names": lambda found: bool(found.names),
    "negation": lambda found: found.is_reversed,
}


def xquad_articles(clones: Path) -> list[Article]:
    sets = {language: json.loads(read(clones, XQUAD, f"xquad.{language}.json"))["data"] for language in ("en", "zh")}
    return [
        [{"en": first["context"], "zh": second["context"]} for first, second in zip(*paragraphs, strict=True)]
        for paragraphs in zip(*([article["paragraphs"] for article in of] for of in sets.values()), strict=True)
    ]


def vue_articles(clones: Path, language: str) -> list[Article]:
    """Sections with equally many paragraphs in both languages; code is left out."""
    pages, english = vue_pages(clones, language), vue_pages(clones, "en")
    return [list(_aligned(pages[path], english[path], language)) for path in sorted(pages.keys() & english.keys())]


def _aligned(page: str, english: str, language: str) -> Iterator[Paragraph]:
    sections, english_sections = _sections(page), _sections(english)
    for anchor in (anchor for anchor in sections if anchor in english_sections):
        first, second = _paragraphs(sections[anchor]), _paragraphs(english_sections[anchor])
        if len(first) == len(second):
            yield from ({language: own, "en": other} for own, other in zip(first, second, strict=True))


def _sections(page: str) -> dict[str, str]:
    _, *parts = HEADING.split(page)
    return dict(zip(parts[2::4], parts[3::4], strict=True))


def _paragraphs(section: str) -> list[str]:
    prose = TAG_LINE.sub("\n", FENCE.sub("\n", section))
    plain = MARKUP.sub("", LINK.sub(r"\1", prose))
    return [paragraph.strip() for paragraph in re.split(r"\n\s*\n", plain) if paragraph.strip()]


def make_pairs(articles: Sequence[Article], stated: str, written: str, count: int) -> list[Pair]:
    places = [
        (article, number, sentence.text)
        for article in articles
        for number, paragraph in enumerate(article)
        for sentence in sentences(paragraph[stated])
        if _is_statement(sentence.text, stated)
    ]
    pairs = []
    for article, number, statement in random.Random(1).sample(places, min(count, len(places))):
        for other in (number - 1, number, number + 1):
            if 0 <= other < len(article):
                pairs.append(Pair(statement, article[other][written], other == number))
    return pairs


def _is_statement(sentence: str, language: str) -> bool:
    letters = len(sentence) * (1 if language == "en" else 3)
    return letters >= MIN_LETTERS and guess_language(sentence) == language and checkable(sentence)


def score_pairs(pairs: Iterable[Pair]) -> list[Scored]:
    scored = []
    for pair in pairs:
        found = compare(pair.statement, pair.text, PieceIndex([pair.text]).pieces(0))
        if found is not None:
            scored.append(Scored(pair, found, EvidenceTexts([pair.text]).support(pair.statement).score))
    return scored


# --- alterations ----------------------------------------------------------------------------------------------------

_NUMBER = re.compile(r"(?<![\w.,])\d{1,4}(?![\d.,%]*\w*\d)")
_NEGATIONS = {
    "en": re.compile(r"\b(is|are|was|were|can|could|will|would|should|may|has|have|had)\b(?! not)"),
    "zh": re.compile("(是|能|可以|会|被|需要|允许)"),
    "ja": re.compile("(できます|します|されます|なります|あります|です|できる|される|する)(?=。)"),
}
_NEGATED = {"en": r"\1 not", "zh": r"不\1"}
_NEGATED_ENDINGS = {
    "できます": "できません",
    "します": "しません",
    "されます": "されません",
    "なります": "なりません",
    "あります": "ありません",
    "です": "ではありません",
    "できる": "できない",
    "される": "されない",
    "する": "しない",
}


def change_number(statement: str) -> str:
    """The first number plus three; unchanged if there is none."""
    return _NUMBER.sub(lambda match: str(int(match[0]) + 3), statement, count=1)


def negate(statement: str, language: str) -> str:
    """Unchanged if no rule applies."""
    if language == "ja":
        return _NEGATIONS["ja"].sub(lambda match: _NEGATED_ENDINGS[match[0]], statement, count=1)
    return _NEGATIONS[language].sub(_NEGATED[language], statement, count=1)


def alterations(scored: Sequence[Scored], language: str) -> dict[str, list[Scored]]:
    """The supported statements with a number changed, and negated."""
    right = [item.pair for item in scored if item.pair.is_true and item.is_supported]
    changed = {
        "number": [(pair, change_number(pair.statement)) for pair in right],
        "negation": [(pair, negate(pair.statement, language)) for pair in right],
    }
    return {
        kind: score_pairs(Pair(text, pair.text, False) for pair, text in pairs if text != pair.statement)
        for kind, pairs in changed.items()
    }


# --- questions ------------------------------------------------------------------------------------------------------


def question_rows(clones: Path, asked: str, written: str, count: int) -> list[tuple[float, bool]]:
    """The similarity of XQuAD questions to the sentence with the answer, and to one of the next paragraph."""
    sets = [json.loads(read(clones, XQUAD, f"xquad.{language}.json"))["data"] for language in (asked, written)]
    chance = random.Random(1)
    rows = []
    for own, other in zip(*sets, strict=True):
        for number, (paragraph, written_paragraph) in enumerate(
            zip(own["paragraphs"], other["paragraphs"], strict=True)
        ):
            at = chance.randrange(len(paragraph["qas"]))
            question = paragraph["qas"][at]["question"]
            start = written_paragraph["qas"][at]["answers"][0]["answer_start"]
            right = next(item for item in sentences(written_paragraph["context"]) if item.end > start)
            following = other["paragraphs"][(number + 1) % len(other["paragraphs"])]["context"]
            wrong = chance.choice(sentences(following))
            rows += [(similarity(question, right.text), True), (similarity(question, wrong.text), False)]
    return rows[: 2 * count]


def print_questions(clones: Path, count: int) -> None:
    """Fits `ANSWER_BIAS` and `ANSWER_SLOPE`: the best threshold scores `ANSWERS`."""
    rows = {f"{a} → {w}": question_rows(clones, a, w, count) for a, w in (("zh", "en"), ("en", "zh"))}
    every = [row for of in rows.values() for row in of]
    table, truth = np.array([[1.0, value] for value, _ in every]), np.array([is_true for _, is_true in every], float)
    _, slope = fit_logistic(table, truth, np.ones(len(every)), RIDGE)
    similarities, truths = zip(*every, strict=True)
    best = max(np.arange(0.1, 0.7, 0.01), key=lambda least: balanced_accuracy(similarities, truths, least))
    for name, of in rows.items():
        values, are_true = zip(*of, strict=True)
        accurate = balanced_accuracy(values, are_true, best)
        print(f"question {name}: AUC {auc(values, are_true):.3f}, balanced accuracy {accurate:.3f}")
    bias = np.log(ANSWERS / (1 - ANSWERS)) - slope * best
    print(f"questions: ANSWER_BIAS, ANSWER_SLOPE = {bias:.1f}, {slope:.1f}; threshold {best:.2f}")


# --- report ---------------------------------------------------------------------------------------------------------


def fit(sets: Sequence[Sequence[Scored]]) -> Numbers:
    """Bias and slope. The slope is that of a logistic regression; `SUPPORT_THRESHOLD` is where the mean of the balanced
    accuracies is best. Pairs with a veto are left out of the regression: they are not supported whatever it says."""
    rows = [item for scored in sets for item in scored if not is_refused(item.found)]
    table = np.array([[1.0, item.found.window.similarity] for item in rows])
    truth = np.array([item.pair.is_true for item in rows], float)
    weights = np.where(truth == 1, 0.5 / truth.mean(), 0.5 / (1 - truth.mean()))
    _, slope = fit_logistic(table, truth, weights, RIDGE)
    at_threshold = np.log(SUPPORT_THRESHOLD / (1 - SUPPORT_THRESHOLD))
    curves = [np.array([at_threshold - slope * similarity, slope]) for similarity in np.arange(0.3, 0.8, 0.01)]
    return max(curves, key=lambda curve: np.mean([accuracy(scored, curve) for scored in sets]))


def is_refused(found: Comparison) -> bool:
    return any(refuses(found) for refuses in VETOES.values())


def accuracy(scored: Sequence[Scored], curve: Numbers) -> float:
    """Balanced, with the vetoes."""
    scores = []
    for item in scored:
        score = 1 / (1 + float(np.exp(-(curve[0] + curve[1] * item.found.window.similarity))))
        scores.append(score * (not is_refused(item.found)))
    return balanced_accuracy(scores, [item.pair.is_true for item in scored], SUPPORT_THRESHOLD)


def print_scores(name: str, scored: Sequence[Scored], changed: dict[str, list[Scored]]) -> None:
    truth = [item.pair.is_true for item in scored]
    scores = [item.score for item in scored]
    right = [item for item in scored if item.pair.is_true]
    cells = [
        f"{auc([item.found.window.similarity for item in scored], truth):.3f}",
        f"{auc(scores, truth):.3f}",
        f"{balanced_accuracy(scores, truth, SUPPORT_THRESHOLD):.3f}",
        *(f"{sum(item.is_supported for item in items)}/{len(items)}" for items in (right, *changed.values())),
    ]
    print(f"| {name} | {' | '.join(cells)} |", flush=True)


def print_vetoes(name: str, scored: Sequence[Scored], changed: dict[str, list[Scored]]) -> None:
    accepted = [item for item in (*scored, *changed["number"], *changed["negation"]) if is_similar(item)]
    right, wrong = ([item for item in accepted if item.pair.is_true == truth] for truth in (True, False))
    cells = [
        f"{sum(refuses(item.found) for item in items)}/{len(items)}"
        for refuses in VETOES.values()
        for items in (right, wrong)
    ]
    print(f"| {name} | {' | '.join(cells)} |")


def is_similar(item: Scored) -> bool:
    return item.found.score >= SUPPORT_THRESHOLD


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("clones", type=Path)
    parser.add_argument("--statements", type=int, default=150, help="of each direction")
    arguments = parser.parse_args()
    print("| statement → text | AUC of similarity | AUC | balanced accuracy | right kept | number changed | negated |")
    print("|---|---|---|---|---|---|---|")
    measured = list(measure(arguments.clones, arguments.statements))
    print("\nRefused of the right and of the wrong statements that the similarity accepts, by veto\n")
    print("| statement → text | quantities | | names | | negation | |\n|---|---|---|---|---|---|---|")
    for _, name, scored, changed in measured:
        print_vetoes(name, scored, changed)
    print_questions(arguments.clones, arguments.statements)
    print_constants(
        {source: [item for of, _, scored, _ in measured if of == source for item in scored] for source in SOURCES}
    )


def measure(clones: Path, count: int) -> Iterator[tuple[str, str, list[Scored], dict[str, list[Scored]]]]:
    """For each direction its source, name, pairs and altered pairs. Prints the first table."""
    articles = {"XQuAD": xquad_articles(clones), "Vue": vue_articles(clones, "ja")}
    for source, stated, written in DIRECTIONS:
        name = f"{source} {stated} → {written}"
        scored = score_pairs(make_pairs(articles[source], stated, written, count))
        changed = alterations(scored, stated)
        print_scores(name, scored, changed)
        yield source, name, scored, changed


def print_constants(rows: dict[str, list[Scored]]) -> None:
    print()
    for fitted in (*([source] for source in SOURCES), SOURCES):
        curve = fit([rows[source] for source in fitted])
        on = ", ".join(f"{accuracy(rows[source], curve):.3f} on {source}" for source in SOURCES)
        print(f"fitted on {' and '.join(fitted)}: BIAS, SLOPE = {curve[0]:.1f}, {curve[1]:.1f}; balanced accuracy {on}")


if __name__ == "__main__":
    main()
