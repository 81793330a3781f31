"""OpenAI's chat completions and Responses APIs, for programs that know nothing about Veracity."""

from veracity.server.openai import response_routes, routes

ROUTERS = (routes.router, response_routes.router)

__all__ = ["ROUTERS"]
