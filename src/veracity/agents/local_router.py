"""The router without a model: small talk, plain requests for earlier answers or for the web, and all else to the
documents (SPEC D3).

It reads the question only by its form, so that no order in it can lead anywhere but to one of these. Knows nothing
about documents.
"""

from __future__ import annotations

from veracity.agents.follow_up.explicit_requests import earlier_answers, from_the_web
from veracity.agents.follow_up.small_talk import small_talk
from veracity.agents.follow_up.standalone import looked_for, stand_alone
from veracity.agents.router import Routing, RoutingTask


class LocalRouter:
    model = ""

    def route(self, task: RoutingTask) -> Routing:
        """Where it is not sure, the documents are asked."""
        if "direct" in task.available and (courtesy := small_talk(task.question)):
            return Routing("direct", f"Nothing but small talk ({courtesy}).", task.question, courtesy=courtesy)
        if "history" in task.available:
            topic = earlier_answers(task.question)
            if topic is not None:
                return Routing("history", "It asks for what was said earlier.", task.question, topic=topic)
        read = stand_alone(task.question, task.turns, task.summary)
        if "web" in task.available and (wanted := from_the_web(task.question)) is not None:
            read, topic = looked_for(wanted, task.question, task.turns, task.summary)
            return Routing("web", "It asks for a search of the web.", read.question, read.added, topic=topic)
        return Routing("knowledge", KNOWLEDGE[read.depends], read.question, read.added)


KNOWLEDGE = {
    False: "A question that stands alone, for the documents.",
    True: "A question that follows on what was said, for the documents.",
}
