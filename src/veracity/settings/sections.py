"""Every setting with its default, bounds and description."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    model_validator,
)

from veracity.models import Channel, ModelName
from veracity.models.llm import checked_model_name
from veracity.models.strength import Scale, Scales
from veracity.settings.servers import LOCAL_KINDS, Servers
from veracity.settings.store import StoreSettings

STRONG_CONFIDENCE = 0.75
CALIBRATED = "calibrated"  # as approval.threshold
HOST_HINT = 'write the name alone, such as "answers.example.com"'
_PORT = re.compile(r"(?<=[^:]):\d{1,5}\Z")  # an IPv6 address has no port without brackets
_NAME = re.compile(r"[a-z0-9_-]{1,63}(?:\.[a-z0-9_-]{1,63})*")


def host_name(text: str) -> str:
    """A host name without its port, in IDNA form. Raises `ValueError`."""
    name = _PORT.sub("", text.strip()).rstrip(".").lower()
    if not name.isascii():
        import idna  # noqa: PLC0415 - large, and rarely needed

        try:
            name = idna.encode(name, uts46=True).decode()
        except idna.IDNAError:
            raise ValueError(HOST_HINT) from None
    if not (_NAME.fullmatch(name) or is_address(name.strip("[]"))):
        raise ValueError(HOST_HINT)
    return name


def is_address(name: str) -> bool:
    """Whether it is an IP address."""
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


OutputMode = Literal["auto", "tool", "native", "prompted"]
Pace = Literal["normal", "slow"]
Fusion = Literal["rrf", "weighted", "cascade"]
SourceName = Literal["knowledge", "graph"]
PriorityName = Literal["knowledge", "temporal", "graph"]
PolicyName = Literal["ask", "never", "always"]
SmtpSecurity = Literal["starttls", "tls", "none"]
ScopeName = Literal["conversation", "user"]
DraftsName = Literal["everyone", "approvers"]
WebProviderName = Literal["none", "searxng", "tavily", "ddgs"]
ReaderName = Literal["bundled", "none"]


def _checked_embedder(name: str) -> str:
    if name in ("bundled", "none") or is_local_model(name):
        return name
    try:
        return checked_model_name(name)
    except ValueError as problem:
        raise ValueError(f'write "bundled", "none" or a model; {problem}') from None


def is_local_model(name: str) -> bool:
    """Whether it names a model that runs on this machine: "onnx:FOLDER", "fastembed:NAME", … Folders have any name."""
    kind, _, model = name.partition(":")
    return kind in LOCAL_KINDS and bool(model.strip())


def _comma_separated(example: str) -> BeforeValidator:
    def split(names: object) -> object:
        """In the environment a list is separated by commas."""
        if not isinstance(names, str | list):
            raise ValueError(f"must be a list of names, such as {example}")
        return [name.strip() for name in names.split(",")] if isinstance(names, str) else names

    return BeforeValidator(split)


EmbedderName = Annotated[str, AfterValidator(_checked_embedder)]
HostNames = Annotated[list[Annotated[str, AfterValidator(host_name)]], _comma_separated('["answers.example.com"]')]
SourceNames = Annotated[list[SourceName], _comma_separated('["knowledge", "graph"]'), Field(min_length=1)]
Threshold = Annotated[float, Field(ge=0, le=1)]
Days = Annotated[int, Field(ge=1, le=36_500)]


class Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class ModelSettings(Section):
    """The model of each role."""

    writer: ModelName | None = Field(default=None, description="writes answers; unset: extractive answers")
    reviewer: ModelName | None = Field(default=None, description="reviews drafts; unset: local checks")
    rewriter: ModelName | None = Field(default=None, description="rewrites queries; unset: local rewriter")
    router: ModelName | None = Field(
        default=None, description="understands follow-ups and chooses the route; unset: local router"
    )
    summarizer: ModelName | None = Field(default=None, description="summarizes conversations; unset: local summarizer")
    judge: ModelName | None = Field(default=None, description="scores submissions (LLM metrics)")
    embedder: EmbedderName = Field(
        default="bundled", description="compares texts by meaning: `bundled`, `none` (words only) or a model"
    )
    reranker: str = Field(
        default="bundled",
        min_length=1,
        description="reorders results: `bundled` (off if `embedder` is `none`), `none` or a model",
    )
    reader: ReaderName = Field(
        default="bundled",
        description="finds the sentence that answers: `bundled` or `none` (rules alone); off if `embedder` is `none`",
    )
    folder: str = Field(default="", description="where `veracity models pull` puts models")


class LLMSettings(Section):
    """How every model is called."""

    pace: Pace = Field(
        default="normal", description="`slow` raises every deadline for slow servers that is not set itself"
    )
    workers: int = Field(default=16, ge=1, le=256, description="maximum concurrent calls")
    call_timeout: float = Field(default=60, gt=0, le=3600, description="seconds per call")
    deadline: float = Field(default=180, gt=0, le=86400, description="seconds per request, retries included")
    backoff: float = Field(default=0.5, ge=0, le=60, description="seconds before the first retry, then doubling")
    output_mode: OutputMode = Field(default="auto", description="how structured output is requested")


class MaxTokensSettings(Section):
    """The longest reply of each role. A model that thinks before it answers gets more."""

    writer: int = Field(default=2000, ge=1, le=1_000_000, description="tokens of a draft")
    reviewer: int = Field(default=1500, ge=1, le=1_000_000, description="tokens of a review")
    rewriter: int = Field(default=1000, ge=1, le=1_000_000, description="tokens of a rewritten query")
    router: int = Field(default=1000, ge=1, le=1_000_000, description="tokens of a route or a reworded question")
    summarizer: int = Field(default=1500, ge=1, le=1_000_000, description="tokens of a summary")
    judge: int = Field(
        default=1500, ge=1, le=1_000_000, description="tokens of a verdict; `max_tokens` of a metric comes first"
    )

    def of(self, role: str) -> int | None:
        """None for any other role."""
        return getattr(self, role, None) if role in type(self).model_fields else None


class BudgetSettings(Section):
    """Limits of one run or one evaluation. Unset: no limit."""

    tokens: int | None = Field(
        default=None, ge=1, le=10**12, description="tokens one run or one evaluation may consume; unset: no limit"
    )
    cost_usd: float | None = Field(
        default=None,
        gt=0,
        allow_inf_nan=False,
        description="US dollars one run or one evaluation may consume; unset: no limit",
    )


class ReadingSettings(Section):
    """Limits for reading one file."""

    max_megabytes: int = Field(default=100, ge=1, le=10_000, description="larger files are skipped")
    seconds: float = Field(default=60, gt=0, le=3600, description="seconds one file may take")
    memory_megabytes: int = Field(default=1024, ge=512, le=1_000_000, description="memory one reading process may take")
    workers: int | None = Field(
        default=None, ge=1, le=256, description="reading processes at once; not set: one per processor"
    )


class KnowledgeSettings(Section):
    """How documents are split into passages. After a change run `veracity reindex`."""

    passage_tokens: int = Field(default=256, ge=32, le=2000, description="maximum passage size")
    overlap_tokens: int = Field(default=30, ge=0, le=500, description="overlap with the previous passage")


class RetrievalSettings(Section):
    """How passages are found."""

    sources: SourceNames = Field(default=["knowledge", "graph"], description="sources to search")
    vector_weight: float = Field(default=0.4, ge=0, le=1, description="weight of vectors against words")
    fusion: Fusion = Field(default="rrf", description="how results of the sources are merged")
    reranker: str = Field(default="none", min_length=1, description="the earlier name of `models.reranker`")


class QualitySettings(Section):
    """How evidence is graded, and when a query is rewritten."""

    coverage_weight: float = Field(default=0.4, ge=0, le=1, description="weight of the coverage of weak points")
    relevance_weight: float = Field(default=0.3, ge=0, le=1, description="weight of the relevance of the top three")
    diversity_weight: float = Field(default=0.2, ge=0, le=1, description="weight of the number of sources")
    count_weight: float = Field(default=0.1, ge=0, le=1, description="weight of the number of passages")
    high: float = Field(default=0.7, ge=0, le=1, description="minimum score of the grade high")
    medium: float = Field(default=0.5, ge=0, le=1, description="minimum score of the grade medium")
    least_coverage: float = Field(default=0.5, ge=0, le=1, description="minimum coverage without an issue")
    least_relevance: float = Field(default=0.6, ge=0, le=1, description="minimum relevance without an issue")
    least_sources: int = Field(default=2, ge=0, le=3, description="minimum number of sources without an issue")
    least_documents: int = Field(default=10, ge=0, le=1000, description="minimum number of passages without an issue")
    priority_source: PriorityName = Field(default="temporal", description="source whose share is the coverage")
    strong_passage: float = Field(
        default=0.7, ge=0, le=1, description="relevance of a passage that makes a rewrite needless; 1 never does"
    )
    max_rewrites: int = Field(default=2, ge=0, le=20, description="maximum query rewrites; 0 disables rewriting")
    loop_deadline: float = Field(default=10, gt=0, le=3600, description="seconds for all searches of a run")


class AnsweringSettings(Section):
    """How answers are written and reviewed."""

    graded: int = Field(default=20, ge=1, le=200, description="number of passages to grade")
    evidence: int = Field(default=8, ge=1, le=50, description="number of passages for writer and reviewer")
    gener_epoch: int = Field(default=3, ge=0, le=20, description="maximum redrafts after a failed review")
    least_confidence: float = Field(
        default=0.5, ge=0, le=1, description="a failed review below this confidence does not count"
    )
    run_deadline: float = Field(default=120, gt=0, le=86400, description="seconds per run")
    guide: bool = Field(
        default=False,
        description="for small models: the local writer puts quotes in the prompt, and abstains if it finds no answer",
    )


class ConversationSettings(Section):
    """How much of a conversation is remembered."""

    recent_turns: int = Field(default=6, ge=1, le=100, description="turns kept verbatim in prompts")
    summarize_after: int = Field(
        default=6000,
        ge=500,
        le=1_000_000,
        description="characters of turns above which older ones are summarized",
    )
    longest_summary: int = Field(default=2000, ge=200, le=100_000, description="maximum characters of the summary")
    history: ScopeName = Field(
        default="conversation",
        description="where earlier answers are searched: `conversation`, or all of the `user`",
    )


class ApprovalSettings(Section):
    """When an answer waits for a person."""

    policy: PolicyName = Field(default="ask", description="`ask` where a check fails, `never`, or `always`")
    threshold: float = Field(
        default=0.75, ge=0, le=1, description='minimum score of an answer that needs no approval, or `"calibrated"`'
    )
    threshold_en: Threshold | None = Field(default=None, description="`threshold` of English answers, if it differs")
    threshold_zh: Threshold | None = Field(default=None, description="`threshold` of Chinese answers, if it differs")
    threshold_ja: Threshold | None = Field(default=None, description="`threshold` of Japanese answers, if it differs")
    on_failed_review: bool = Field(default=True, description="whether an answer that failed its review needs approval")
    grounding_floor: float = Field(
        default=0.5, ge=0, le=1, description="minimum of both local grounding checks without approval; 0 disables it"
    )
    audit: float = Field(
        default=0, ge=0, le=1, description="share of the answers released without approval that a person checks later"
    )

    send_backs: int = Field(
        default=2, ge=0, le=10, description="how often a draft of a turn can be sent back with a note"
    )
    undo_seconds: float = Field(
        default=10, ge=0, le=60, description="seconds in which a decision made on the page can be undone"
    )
    expires: float = Field(
        default=0, ge=0, le=87_600, description="hours until a draft that nobody decided is rejected; 0: never"
    )

    calibrated: bool = Field(
        default=False,
        description='whether the threshold is that of `veracity calibrate`; as `threshold = "calibrated"`',
    )

    def for_language(self, language: str) -> ApprovalSettings:
        """The settings of the gate for an answer in this language."""
        own = self.language_thresholds.get(language)
        return self if own is None else self.model_copy(update={"threshold": own})

    @property
    def language_thresholds(self) -> dict[str, float]:
        """Of languages with a threshold of their own."""
        own = {"en": self.threshold_en, "zh": self.threshold_zh, "ja": self.threshold_ja}
        return {language: threshold for language, threshold in own.items() if threshold is not None}

    def with_thresholds(self, threshold: float, languages: Mapping[str, float]) -> ApprovalSettings:
        """With these thresholds, for all answers and for languages, instead of its own."""
        own = {f"threshold_{language}": languages.get(language) for language in ("en", "zh", "ja")}
        return self.model_copy(update={"threshold": threshold, **own})

    @model_validator(mode="before")
    @classmethod
    def _read_calibrated(cls, data: Any) -> Any:
        """A number replaces "calibrated", also from the environment and from --set."""
        if not isinstance(data, Mapping) or "threshold" not in data:
            return data
        if data["threshold"] == CALIBRATED:
            return {**{name: value for name, value in data.items() if name != "threshold"}, "calibrated": True}
        return {"calibrated": False, **data}


class NotifySettings(Section):
    """How drafts that wait are announced. Secrets come from the environment (VERACITY_WEBHOOK_SECRET,
    VERACITY_SMTP_USER, VERACITY_SMTP_PASSWORD)."""

    webhook_url: str = Field(default="", description="URL that gets a signed POST; empty: none")
    mail_to: list[str] = Field(default=[], max_length=50, description="addresses that get mail; empty: none")
    mail_from: str = Field(default="veracity@localhost", description="sender of the mail")
    smtp_host: str = Field(default="localhost", description="mail server")
    smtp_port: int = Field(default=587, ge=1, le=65_535, description="port of the mail server")
    smtp_security: SmtpSecurity = Field(default="starttls", description="`starttls`, `tls`, or `none`")
    page_url: str = Field(default="", description="address of the page, for links to the draft")
    texts: bool = Field(default=False, description="whether announcements hold the question, the draft and the reason")

    @property
    def channels(self) -> tuple[Channel, ...]:
        webhook: tuple[Channel, ...] = ("webhook",) if self.webhook_url else ()
        return (*webhook, "mail") if self.mail_to else webhook

    @model_validator(mode="after")
    def _check(self) -> NotifySettings:
        for name in ("webhook_url", "page_url"):
            value = getattr(self, name)
            if value and not re.fullmatch(r"https?://[^\s/@]+(?:/\S*)?", value):
                raise ValueError(f"{name} must be an address that begins with http:// or https://")
        for address in (*self.mail_to, self.mail_from):
            if not re.fullmatch(r"[^\s@<>,;:]+@[^\s@<>,;:]+", address):
                raise ValueError(f'"{address}" is not a mail address')
        return self


class EvaluatorSettings(Section):
    """How answers are scored. Metrics are configured in configs/evaluator.toml."""

    batch: bool = Field(
        default=True, description="whether a run asks LLM metrics with the same judge in one call, with excerpts"
    )
    deadline: float = Field(default=300, gt=0, le=86400, description="seconds per evaluation outside of a run")


class WebSettings(Section):
    """Web search after a rejection. Keys come from the environment (TAVILY_API_KEY)."""

    provider: WebProviderName = Field(default="none", description="`searxng`, `tavily`, `ddgs`, or `none`")
    searxng_url: str = Field(default="", description="URL of the SearXNG server")
    results: int = Field(default=5, ge=1, le=20, description="maximum pages to open")
    deadline: float = Field(default=20, gt=0, le=600, description="seconds for the search and all its pages")
    page_seconds: float = Field(default=8, gt=0, le=120, description="seconds per page")
    page_megabytes: float = Field(default=5, gt=0, le=100, description="maximum page size")


class ServerSettings(Section):
    """`veracity serve`. Tokens are not settings: see `veracity users` and VERACITY_TOKEN."""

    host: str = Field(default="127.0.0.1", min_length=1, description="address to listen on")
    port: int = Field(default=8347, ge=0, le=65535, description="port to listen on; 0 chooses a free one")
    allowed_hosts: HostNames = Field(
        default=[], description="further host names of the server, such as `answers.example.com`"
    )
    runs: int = Field(default=4, ge=1, le=256, description="maximum concurrent runs")
    queue: int = Field(default=200, ge=0, le=100_000, description="maximum queued questions")
    pending_per_user: int = Field(
        default=200, ge=1, le=1_000_000, description="pending approvals of one user before questions are refused"
    )
    asks_per_minute: int = Field(default=60, ge=1, le=1_000_000, description="questions per user and minute")
    requests_per_minute: int = Field(default=1200, ge=1, le=10_000_000, description="requests per user and minute")
    streams: int = Field(default=500, ge=1, le=100_000, description="maximum open event streams")
    request_kilobytes: int = Field(default=512, ge=1, le=1_000_000, description="maximum request size")
    upload_megabytes: int = Field(default=100, ge=1, le=100_000, description="maximum upload size")
    drafts: DraftsName = Field(
        default="everyone",
        description="who sees drafts: `everyone` who may see the question, or only `approvers`",
    )
    examples: bool = Field(
        default=True, description="whether example questions are found in the background when documents change"
    )
    grace: float = Field(default=10, ge=0, le=3600, description="seconds that runs have to finish at shutdown")
    free_megabytes: int = Field(
        default=100, ge=0, le=1_000_000_000, description="free disk space below which `/readyz` reports a problem"
    )


class WorkerSettings(Section):
    """`veracity worker`."""

    runs: int = Field(default=4, ge=1, le=256, description="maximum concurrent runs of a worker")
    documents: int = Field(default=1, ge=1, le=64, description="maximum slices of uploads that a worker reads at once")
    evaluations: int = Field(default=4, ge=1, le=256, description="maximum concurrent evaluations of a worker")


class TelemetrySettings(Section):
    """What is sent to services that observe runs. OpenTelemetry is configured by its own variables."""

    langsmith: bool = Field(
        default=False, description="whether LangSmith's variables may enable its traces, which hold texts"
    )


class ReceiptSettings(Section):
    """What a receipt contains besides what it always does."""

    prompts: bool = Field(
        default=False, description="whether the prompts and replies of all model calls are kept for the receipt"
    )


class RetentionSettings(Section):
    """Days after which a server and `veracity prune` remove what was asked. Unset: never. Drafts that wait for a person
    are always kept."""

    runs_days: Days | None = Field(default=None, description="days until questions and answers are removed")
    receipts_days: Days | None = Field(
        default=None, description="days until receipts are reduced to the question and the answer"
    )
    conversations_days: Days | None = Field(
        default=None, description="days after the last turn until a conversation is removed"
    )


class Settings(Section):
    models: ModelSettings = ModelSettings()
    llm: LLMSettings = LLMSettings()
    servers: Servers = {}
    max_tokens: MaxTokensSettings = MaxTokensSettings()
    budget: BudgetSettings = BudgetSettings()
    reading: ReadingSettings = ReadingSettings()
    knowledge: KnowledgeSettings = KnowledgeSettings()
    retrieval: RetrievalSettings = RetrievalSettings()
    quality: QualitySettings = QualitySettings()
    answering: AnsweringSettings = AnsweringSettings()
    conversation: ConversationSettings = ConversationSettings()
    approval: ApprovalSettings = ApprovalSettings()
    notify: NotifySettings = NotifySettings()
    evaluator: EvaluatorSettings = EvaluatorSettings()
    web: WebSettings = WebSettings()
    server: ServerSettings = ServerSettings()
    worker: WorkerSettings = WorkerSettings()
    telemetry: TelemetrySettings = TelemetrySettings()
    receipts: ReceiptSettings = ReceiptSettings()
    retention: RetentionSettings = RetentionSettings()
    store: StoreSettings = StoreSettings()

    @property
    def reranker(self) -> str:
        """`models.reranker`, or `retrieval.reranker`, its earlier name. "none" instead of the bundled one where
        passages are found by words alone."""
        earlier = self.retrieval.reranker
        named = self.models.reranker if earlier == "none" else earlier
        return "none" if named == "bundled" and self.models.embedder == "none" else named

    @property
    def reader(self) -> ReaderName:
        """`models.reader`, or "none" where answers are found by words alone."""
        return "none" if self.models.embedder == "none" else self.models.reader

    @property
    def scales(self) -> Scales:
        """From where on evidence, relevance, confidence and scores are called fair and strong."""
        quality, confident = self.quality, self.answering.least_confidence
        return Scales(
            evidence=Scale(fair=quality.medium, strong=quality.high),
            relevance=Scale(fair=min(quality.least_relevance, quality.strong_passage), strong=quality.strong_passage),
            confidence=Scale(fair=confident, strong=max(confident, STRONG_CONFIDENCE)),
            score=Scale.of_score(self.approval.threshold),
        )


SECTIONS: dict[str, type[BaseModel]] = {
    "models": ModelSettings,
    "llm": LLMSettings,
    "max_tokens": MaxTokensSettings,
    "budget": BudgetSettings,
    "reading": ReadingSettings,
    "knowledge": KnowledgeSettings,
    "retrieval": RetrievalSettings,
    "quality": QualitySettings,
    "answering": AnsweringSettings,
    "conversation": ConversationSettings,
    "approval": ApprovalSettings,
    "notify": NotifySettings,
    "evaluator": EvaluatorSettings,
    "web": WebSettings,
    "server": ServerSettings,
    "worker": WorkerSettings,
    "telemetry": TelemetrySettings,
    "receipts": ReceiptSettings,
    "retention": RetentionSettings,
    "store": StoreSettings,
}
KEYS = {"": [*SECTIONS, "servers"], **{name: list(section.model_fields) for name, section in SECTIONS.items()}}
