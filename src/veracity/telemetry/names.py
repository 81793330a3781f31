"""Every name that is sent: of spans, of what is told of them, and of the facts of steps."""

from __future__ import annotations

SCOPE = "veracity"
RUN = "run"
STEP = "step {name}"
MODEL_CALL = "chat {model}"
WEB_SEARCH = "web_search {provider}"

RUN_ID = "veracity.run.id"
RUN_STRETCH = "veracity.run.stretch"
RUN_OUTCOME = "veracity.run.outcome"
STEP_NAME = "veracity.step.name"
STEP_FACT = "veracity.step.{fact}"
ROLE = "veracity.role"
WEB_PROVIDER = "veracity.web.provider"
WEB_PAGES = "veracity.web.pages"
WEB_EVIDENCE = "veracity.web.evidence"
ERROR = "error.type"
# OpenTelemetry's own, for calls to models.
OPERATION = "gen_ai.operation.name"
PROVIDER = "gen_ai.provider.name"
REQUEST_MODEL = "gen_ai.request.model"
REQUEST_TEMPERATURE = "gen_ai.request.temperature"
REQUEST_MAX_TOKENS = "gen_ai.request.max_tokens"
REQUEST_STREAM = "gen_ai.request.stream"
OUTPUT_TYPE = "gen_ai.output.type"
RESPONSE_MODEL = "gen_ai.response.model"
FINISH_REASONS = "gen_ai.response.finish_reasons"
INPUT_TOKENS = "gen_ai.usage.input_tokens"
OUTPUT_TOKENS = "gen_ai.usage.output_tokens"

# What is told of a step where its facts hold it: numbers, single words, and of a list how long it is.
FACTS = (
    *(
        "abstains",
        "attempt",
        "confidence",
        "edited",
        "epoch",
        "evidence",
        "folded",
        "form",
        "found",
        "grade",
        "outcome",
    ),
    *("pages", "provider", "route", "score", "source", "sources", "status", "suggestions", "threshold"),
    *("verdict",),
)
