"""How attempts were scored, on a page: a bar for each metric, with what the judge said. Knows no metric."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from veracity.models import EvaluationResult, MetricScore, Scoring
from veracity.pages.elements import Safe, tag
from veracity.pages.labels import Words
from veracity.pages.layout import bar, bullets, facts, language_of, prose


def scores(scorings: Sequence[Scoring], words: Words) -> Iterator[Safe]:
    many = len(scorings) > 1
    for scoring in scorings:
        title = words("attempt", number=scoring.attempt) if many or scoring.attempt > 1 else words("overall")
        yield tag("article", tag("h3", title), *_scoring(scoring, words), class_="card")


def _scoring(scoring: Scoring, words: Words) -> Iterator[Safe | None]:
    if scoring.score is None:
        yield tag("p", words("not_scored"))
    else:
        yield _scored(words("overall"), scoring.score, scoring.threshold, words)
    yield facts((words("threshold"), f"{100 * scoring.threshold:g}"), (words("problem"), scoring.problem))
    if scoring.result:
        yield from _metrics(scoring.result, scoring.threshold, words)


def _metrics(result: EvaluationResult, threshold: float, words: Words) -> Iterator[Safe | None]:
    for metric in result.metrics:
        yield tag("h4", metric.metric_name)
        yield _scored(metric.metric_name, metric.score / 100, threshold, words)
        yield _about(metric, words)
        if metric.evaluator_comment:
            yield prose(metric.evaluator_comment, lang=language_of(metric.evaluator_comment, words.tag))
    yield facts((words("chosen_by"), words.named("metrics", result.metric_set)))
    yield bullets(result.warnings)


def _scored(name: str, share: float, threshold: float, words: Words) -> Safe:
    label = f"{name}: {100 * share:.1f} / 100; {words('threshold')}: {100 * threshold:g}"
    drawn = bar(share, label, "good" if share >= threshold else "bad", mark=threshold)
    return tag("div", drawn, tag("span", f"{100 * share:.1f}", class_="figure"), class_="scored")


def _about(metric: MetricScore, words: Words) -> Safe | None:
    return facts(
        (words("weight"), None if metric.weight is None else f"{metric.weight:.2f}"),
        (words("model"), metric.model),
        (words("verdicts"), ", ".join(f"{score:g}" for score in metric.samples) if len(metric.samples) > 1 else ""),
    )
