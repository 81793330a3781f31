"""How much a judge's scores vary for the same sample (SPEC B15), and how it scores good and bad samples.

    OPENAI_BASE_URL=http://localhost:8000/v1 python benchmarks/judge_stability.py openai-chat:my-model [REPEATS]

Scores every shipped sample with every LLM metric REPEATS times (10). Prints each score, then, per metric, the mean
score of the good and of the bad samples, the widest spread (highest minus lowest score of a sample) and how many
samples did not vary. The bar is a spread under 5.
"""

import sys
from collections import defaultdict

from veracity import EvaluationConfig, EvaluationRequest, Evaluator, MetricConfig
from veracity.cli.commands.demo import load_samples

METRICS = ("ClarityCoherence", "Coverage", "Relevance", "LLMPlain")


def main(model: str, repeats: int) -> None:
    evaluator = Evaluator()
    scores: dict[tuple[str, str], list[float]] = defaultdict(list)
    good = {sample["id"]: sample["good"] for sample in load_samples()}
    for sample in load_samples():
        fields = {key: sample[key] for key in ("user_query", "submission", "context")}
        for metric in METRICS:
            config = EvaluationConfig(metrics=[MetricConfig(name=metric, model=model)])
            for _ in range(repeats):
                result = evaluator.evaluate(EvaluationRequest(team_id="benchmark", config=config, **fields))
                scores[metric, sample["id"]].append(result.overall_score)
            repeated = scores[metric, sample["id"]]
            print(f"{sample['id']:<18}{metric:<18}{repeated}  {result.metrics[0].evaluator_comment[:100]}", flush=True)
    print_table(scores, good)


def print_table(scores: dict[tuple[str, str], list[float]], good: dict[str, bool]) -> None:
    print(f"\n{'metric':<18}{'good':>8}{'bad':>8}{'widest spread':>16}{'did not vary':>16}")
    for metric in METRICS:
        of_metric = {sample: values for (name, sample), values in scores.items() if name == metric}
        spreads = [max(values) - min(values) for values in of_metric.values()]
        means = [
            sum(sum(values) / len(values) for sample, values in of_metric.items() if good[sample] is is_good)
            / sum(good[sample] is is_good for sample in of_metric)
            for is_good in (True, False)
        ]
        unchanged = f"{sum(spread == 0 for spread in spreads)} of {len(spreads)}"
        print(f"{metric:<18}{means[0]:>8.1f}{means[1]:>8.1f}{max(spreads):>16.1f}{unchanged:>16}")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 10)
