"""Every setting with its default and its bounds. Knows nothing about where their values come from."""

from __future__ import annotations

import ipaddress
import re
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

from veracity.models import ModelName
from veracity.models.llm import checked_model_name

ALONE = 'write the name alone, such as "answers.example.com"'
_PORT = re.compile(r"(?<=[^:]):\d{1,5}\Z")  # of an address with colons, the last part is none
_NAME = re.compile(r"[a-z0-9_-]{1,63}(?:\.[a-z0-9_-]{1,63})*")


def host_name(given: str) -> str:
    """Without its port, and with letters that names have not as they are written for them."""
    name = _PORT.sub("", given.strip()).rstrip(".").lower()
    if not name.isascii():
        import idna  # noqa: PLC0415 - large, and few need it

        try:
            name = idna.encode(name, uts46=True).decode()
        except idna.IDNAError:
            raise ValueError(ALONE) from None
    if not (_NAME.fullmatch(name) or is_address(name.strip("[]"))):
        raise ValueError(ALONE)
    return name


def is_address(name: str) -> bool:
    """Of numbers, and no name."""
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


OutputMode = Literal["auto", "tool", "native", "prompted"]
Fusion = Literal["rrf", "weighted", "cascade"]
SourceName = Literal["knowledge", "graph"]
PriorityName = Literal["knowledge", "temporal", "graph"]
PolicyName = Literal["ask", "never", "always"]
ScopeName = Literal["conversation", "user"]
DraftsName = Literal["everyone", "approvers"]
WebProviderName = Literal["none", "searxng", "tavily", "ddgs"]


def _checked_embedder(name: str) -> str:
    if name in ("bundled", "none"):
        return name
    try:
        return checked_model_name(name)
    except ValueError as problem:
        raise ValueError(f'write "bundled", "none" or a model; {problem}') from None


def _listed(example: str) -> BeforeValidator:
    def split(names: object) -> object:
        """In the environment a list is written with commas."""
        if not isinstance(names, str | list):
            raise ValueError(f"must be a list of names, such as {example}")
        return [name.strip() for name in names.split(",")] if isinstance(names, str) else names

    return BeforeValidator(split)


EmbedderName = Annotated[str, AfterValidator(_checked_embedder)]
HostNames = Annotated[list[Annotated[str, AfterValidator(host_name)]], _listed('["answers.example.com"]')]
SourceNames = Annotated[list[SourceName], _listed('["knowledge", "graph"]'), Field(min_length=1)]


class Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class ModelSettings(Section):
    """Which model does what. Empty means: not set."""

    writer: ModelName | None = Field(default=None, description="writes answers; not set: they are extracted")
    reviewer: ModelName | None = Field(default=None, description="reviews drafts; not set: local checks do")
    rewriter: ModelName | None = Field(default=None, description="rewrites queries; not set: done locally")
    router: ModelName | None = Field(
        default=None, description="understands follow-ups and decides where to look; not set: done locally"
    )
    summarizer: ModelName | None = Field(default=None, description="sums up long conversations; not set: done locally")
    judge: ModelName | None = Field(default=None, description="scores submissions (LLM metrics)")
    embedder: EmbedderName = Field(
        default="bundled", description="compares texts by meaning: `bundled`, `none` (words only) or a model"
    )


class LLMSettings(Section):
    """How every model is called."""

    workers: int = Field(default=16, ge=1, le=256, description="calls under way at once, at most")
    call_timeout: float = Field(default=60, gt=0, le=3600, description="seconds one call may take")
    deadline: float = Field(default=180, gt=0, le=86400, description="seconds one question may take, retries included")
    backoff: float = Field(default=0.5, ge=0, le=60, description="seconds before the first retry, then doubling")
    output_mode: OutputMode = Field(default="auto", description="how structured answers are asked for")


class BudgetSettings(Section):
    """What one run or one evaluation may consume at most. Not set means: no ceiling."""

    tokens: int | None = Field(default=None, ge=1, le=10**12)
    cost_usd: float | None = Field(default=None, gt=0, allow_inf_nan=False)


class ReadingSettings(Section):
    """What reading one file may take."""

    max_megabytes: int = Field(default=100, ge=1, le=10_000, description="larger files are skipped")
    seconds: float = Field(default=60, gt=0, le=3600, description="seconds one file may take")
    memory_megabytes: int = Field(default=1024, ge=512, le=1_000_000, description="memory one reading process may take")
    workers: int | None = Field(
        default=None, ge=1, le=256, description="reading processes at once; not set: one per processor"
    )


class KnowledgeSettings(Section):
    """How documents are cut into passages. A change asks for a `veracity reindex`."""

    passage_tokens: int = Field(default=256, ge=32, le=2000, description="size of a passage, at most")
    overlap_tokens: int = Field(default=30, ge=0, le=500, description="what a passage repeats of the one before")


class RetrievalSettings(Section):
    """How passages are found."""

    sources: SourceNames = Field(default=["knowledge", "graph"], description="where a search looks")
    vector_weight: float = Field(default=0.4, ge=0, le=1, description="what meaning counts beside words")
    fusion: Fusion = Field(default="rrf", description="how the sources become one list")
    reranker: str = Field(
        default="none",
        min_length=1,
        description="reorders what was found: `none`, `cross-encoder:FOLDER` or a service's model",
    )


class QualitySettings(Section):
    """How evidence is graded, and when a query is rewritten."""

    coverage_weight: float = Field(default=0.4, ge=0, le=1, description="what coverage of weak points counts")
    relevance_weight: float = Field(default=0.3, ge=0, le=1, description="what the relevance of the best three counts")
    diversity_weight: float = Field(default=0.2, ge=0, le=1, description="what the number of sources counts")
    count_weight: float = Field(default=0.1, ge=0, le=1, description="what the number of passages counts")
    high: float = Field(default=0.7, ge=0, le=1, description="from this score on evidence is good")
    medium: float = Field(default=0.5, ge=0, le=1, description="from this score on it is good enough")
    least_coverage: float = Field(default=0.5, ge=0, le=1, description="less coverage is an issue")
    least_relevance: float = Field(default=0.6, ge=0, le=1, description="less relevance is an issue")
    least_sources: int = Field(default=2, ge=0, le=3, description="fewer sources are an issue")
    least_documents: int = Field(default=10, ge=0, le=1000, description="fewer passages are an issue")
    priority_source: PriorityName = Field(default="temporal", description="the source whose share is the coverage")
    max_rewrites: int = Field(default=2, ge=0, le=20, description="how often a query is rewritten; 0: never")
    loop_deadline: float = Field(default=10, gt=0, le=3600, description="seconds for all searches of a run")


class AnsweringSettings(Section):
    """How answers are written and reviewed."""

    graded: int = Field(default=20, ge=1, le=200, description="passages that are graded")
    evidence: int = Field(default=8, ge=1, le=50, description="passages that writer and reviewer are given")
    gener_epoch: int = Field(default=3, ge=0, le=20, description="redrafts after a failed review, at most")
    least_confidence: float = Field(
        default=0.5, ge=0, le=1, description="a failed review that is less sure of itself does not count"
    )
    run_deadline: float = Field(default=120, gt=0, le=86400, description="seconds a run may take")


class ConversationSettings(Section):
    """What a conversation remembers."""

    recent_turns: int = Field(default=6, ge=1, le=100, description="turns that prompts hold word for word")
    summarize_after: int = Field(
        default=6000, ge=500, le=1_000_000, description="characters of turns, after which older ones are summed up"
    )
    longest_summary: int = Field(default=2000, ge=200, le=100_000, description="characters of the summary, at most")
    history: ScopeName = Field(
        default="conversation", description="where earlier answers are searched: `conversation`, or all of the `user`"
    )


class ApprovalSettings(Section):
    """When a person is asked."""

    policy: PolicyName = Field(default="ask", description="`ask` below the threshold, `never`, or `always`")
    threshold: float = Field(default=0.75, ge=0, le=1, description="from this score on nobody is asked")


class WebSettings(Section):
    """Where the web is searched after a rejection. Keys come from the environment (TAVILY_API_KEY)."""

    provider: WebProviderName = Field(default="none", description="`searxng`, `tavily`, `ddgs`, or `none`")
    searxng_url: str = Field(default="", description="address of the SearXNG server")
    results: int = Field(default=5, ge=1, le=20, description="pages that are opened, at most")
    deadline: float = Field(default=20, gt=0, le=600, description="seconds for the search and all its pages")
    page_seconds: float = Field(default=8, gt=0, le=120, description="seconds one page may take")
    page_megabytes: float = Field(default=5, gt=0, le=100, description="size of a page, at most")


class ServerSettings(Section):
    """How `veracity serve` behaves. Tokens are no settings: see `veracity users` and VERACITY_TOKEN."""

    host: str = Field(default="127.0.0.1", min_length=1, description="the address it listens on")
    port: int = Field(default=8347, ge=0, le=65535, description="the port it listens on; 0: one that is free")
    allowed_hosts: HostNames = Field(
        default=[], description="names under which it is reached besides that address, such as `answers.example.com`"
    )
    runs: int = Field(default=4, ge=1, le=256, description="questions worked on at once, at most")
    queue: int = Field(default=200, ge=0, le=100_000, description="questions that wait for their turn, at most")
    asks_per_minute: int = Field(default=60, ge=1, le=1_000_000, description="questions of one user in a minute")
    requests_per_minute: int = Field(default=1200, ge=1, le=10_000_000, description="requests of one user in a minute")
    streams: int = Field(default=500, ge=1, le=100_000, description="open event streams, at most")
    request_kilobytes: int = Field(default=512, ge=1, le=1_000_000, description="size of a request, at most")
    upload_megabytes: int = Field(default=100, ge=1, le=100_000, description="size of an upload, at most")
    drafts: DraftsName = Field(
        default="everyone",
        description="who sees drafts of a question: `everyone` who may see the question, or `approvers` alone",
    )
    grace: float = Field(default=10, ge=0, le=3600, description="seconds that runs have to end when it is told to stop")


class Settings(Section):
    models: ModelSettings = ModelSettings()
    llm: LLMSettings = LLMSettings()
    budget: BudgetSettings = BudgetSettings()
    reading: ReadingSettings = ReadingSettings()
    knowledge: KnowledgeSettings = KnowledgeSettings()
    retrieval: RetrievalSettings = RetrievalSettings()
    quality: QualitySettings = QualitySettings()
    answering: AnsweringSettings = AnsweringSettings()
    conversation: ConversationSettings = ConversationSettings()
    approval: ApprovalSettings = ApprovalSettings()
    web: WebSettings = WebSettings()
    server: ServerSettings = ServerSettings()


SECTIONS: dict[str, type[Section]] = {
    "models": ModelSettings,
    "llm": LLMSettings,
    "budget": BudgetSettings,
    "reading": ReadingSettings,
    "knowledge": KnowledgeSettings,
    "retrieval": RetrievalSettings,
    "quality": QualitySettings,
    "answering": AnsweringSettings,
    "conversation": ConversationSettings,
    "approval": ApprovalSettings,
    "web": WebSettings,
    "server": ServerSettings,
}
KEYS = {"": list(SECTIONS), **{name: list(section.model_fields) for name, section in SECTIONS.items()}}
