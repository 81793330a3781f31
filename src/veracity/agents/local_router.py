"""The router without a model: small talk, explicit requests for earlier answers or the web, else documents (SPEC D3).

It only looks at the form of a question, so instructions in it cannot lead anywhere else.
"""

from __future__ import annotations

from veracity.agents.base import Routing, RoutingTask
from veracity.agents.follow_up.explicit_requests import parse_recall_request, parse_web_request
from veracity.agents.follow_up.small_talk import classify_small_talk, reply_to_small_talk
from veracity.agents.follow_up.standalone import make_standalone, resolve_topic
from veracity.language import guess_language


class LocalRouter:
    model = ""

    def route(self, task: RoutingTask) -> Routing:
        if "direct" in task.available and (kind := classify_small_talk(task.question)):
            reply = reply_to_small_talk(kind, guess_language(task.question))
            return Routing("direct", f"Only small talk ({kind}).", task.question, reply=reply)
        if "history" in task.available and (topic := parse_recall_request(task.question)) is not None:
            return Routing("history", "It asks for an earlier answer.", task.question, topic=topic)
        if "web" in task.available and (requested := parse_web_request(task.question)) is not None:
            standalone, topic = resolve_topic(requested, task.question, task.turns, task.summary)
            return Routing("web", "It asks for a web search.", standalone.question, standalone.added, topic=topic)
        standalone = make_standalone(task.question, task.turns, task.summary)
        reason = "A follow-up question" if standalone.depends else "A standalone question"
        return Routing("knowledge", f"{reason}, for the documents.", standalone.question, standalone.added)
