"""OpenAI's chat completions API, for programs that know nothing about Veracity."""

from veracity.server.openai.routes import router

__all__ = ["router"]
