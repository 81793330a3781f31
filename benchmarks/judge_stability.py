"""How much a judge's scores vary when the same sample is judged again (SPEC B15), and how it judges good and bad ones.

    OPENAI_BASE_URL=http://localhost:8000/v1 python benchmarks/judge_stability.py openai-chat:my-model [REPEATS]

Judges every shipped sample with every LLM metric REPEATS times (10). Prints each score as it comes, then, per metric,
the mean score of the good and of the bad samples, the widest spread (highest minus lowest score of one sample) and how
many samples did not vary at all. The bar is a spread under 5.
"""

import sys
from collections import defaultdict

from veracity import EvaluationConfig, EvaluationRequest, Evaluator, MetricConfig
from veracity.cli.commands.demo import samples

METRICS = ("ClarityCoherence", "Coverage", "Relevance", "LLMPlain")


def main(model: str, repeats: int) -> None:
    evaluator = Evaluator()
    scores: dict[tuple[str, str], list[float]] = defaultdict(list)
    good = {sample["id"]: sample["good"] for sample in samples()}
    for sample in samples():
        fields = {key: sample[key] for key in ("user_query", "submission", "context")}
        for metric in METRICS:
            config = EvaluationConfig(metrics=[MetricConfig(name=metric, model=model)])
            for _ in range(repeats):
                result = evaluator.evaluate(EvaluationRequest(team_id="benchmark", config=config, **fields))
                scores[metric, sample["id"]].append(result.overall_score)
            found = scores[metric, sample["id"]]
            print(f"{sample['id']:<18}{metric:<18}{found}  {result.metrics[0].evaluator_comment[:100]}", flush=True)
    report(scores, good)


def report(scores: dict[tuple[str, str], list[float]], good: dict[str, bool]) -> None:
    print(f"\n{'metric':<18}{'good':>8}{'bad':>8}{'widest spread':>16}{'did not vary':>16}")
    for metric in METRICS:
        of_metric = {sample: found for (name, sample), found in scores.items() if name == metric}
        spreads = [max(found) - min(found) for found in of_metric.values()]
        means = [
            sum(sum(found) / len(found) for sample, found in of_metric.items() if good[sample] is wanted)
            / sum(good[sample] is wanted for sample in of_metric)
            for wanted in (True, False)
        ]
        steady = f"{sum(spread == 0 for spread in spreads)} of {len(spreads)}"
        print(f"{metric:<18}{means[0]:>8.1f}{means[1]:>8.1f}{max(spreads):>16.1f}{steady:>16}")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 10)
