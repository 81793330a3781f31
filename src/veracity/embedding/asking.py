"""One call to one embedding model, through pydantic-ai: the only module here that knows that library.

A call is made once, by the thread that owns the connection: no retries here, and none in the provider's SDK where that
can be told.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, Literal

from pydantic_ai.embeddings import EmbeddingModel, EmbeddingSettings, infer_embedding_model
from pydantic_ai.exceptions import ModelAPIError, ModelRequestTimeout, UnexpectedModelBehavior, UserError
from pydantic_ai.providers import Provider, infer_provider

from veracity.errors import ConfigurationError
from veracity.providers.failures import explained

Kind = Literal["document", "query"]

SETTINGS = EmbeddingSettings(truncate=True)  # where it is the provider that has to be told


class Connection:
    """A model and what it speaks through. Leaving its asynchronous context closes it."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._providers: list[Provider[Any]] = []
        self._model: EmbeddingModel = explained(name, self._made)

    def ask(self, texts: Sequence[str], kind: Kind, timeout: float) -> Sequence[Sequence[float]]:
        """What the provider answers, not yet checked. Ends in time also where the server sends a byte now and then."""
        loop = asyncio.get_event_loop()
        return explained(self.name, lambda: loop.run_until_complete(self._embed(texts, kind, timeout)))

    async def __aenter__(self) -> Connection:
        return self

    async def __aexit__(self, *_: object) -> None:
        for provider in self._providers:
            async with provider:
                pass

    async def _embed(self, texts: Sequence[str], kind: Kind, timeout: float) -> Sequence[Sequence[float]]:
        try:
            async with asyncio.timeout(timeout):
                answer = await self._model.embed(texts, input_type=kind, settings=SETTINGS)
        except TimeoutError:
            raise ModelRequestTimeout(self.name, timeout) from None
        except (AttributeError, KeyError, TypeError, ValueError):  # the SDK stumbled over what it read
            raise UnexpectedModelBehavior("not in the form of the API") from None
        except Exception as problem:
            if isinstance(problem, ModelAPIError) or not hasattr(problem, "status_code"):
                raise
            raise ModelAPIError(self.name, "redirected") from problem  # an SDK's own error, which pydantic-ai let pass
        return answer.embeddings

    def _made(self) -> EmbeddingModel:
        try:
            return infer_embedding_model(self.name, provider_factory=self._provider)
        except UserError as problem:
            if "Unknown embeddings model" not in str(problem):
                raise
        raise ConfigurationError(
            f'The provider of "{self.name}" has no embedding models, as far as pydantic-ai knows: '
            'use another one (an OpenAI-compatible server is written "openai:model"), "bundled" or "none".'
        )

    def _provider(self, name: str) -> Provider[Any]:
        provider = infer_provider(name)
        self._providers.append(provider)
        if isinstance(getattr(provider.client, "max_retries", None), int):
            provider.client.max_retries = 0
        return provider
