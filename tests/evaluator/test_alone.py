"""The evaluator works without the libraries of search and runs: for CI jobs that score answers of other systems."""

import json
import os
import subprocess
import sys

from tests.loopback import LoopbackServer, verdict

PROGRAM = """
import json, sys

for name in ("lancedb", "langgraph", "onnxruntime"):
    sys.modules[name] = None  # importing it raises

from veracity.evaluator import Evaluator
from veracity.models import EvaluationConfig, EvaluationRequest, MetricConfig
from veracity.testing import ScriptedLLM

judged = EvaluationConfig(metrics=[MetricConfig(name="Relevance", model="openai-chat:judge")])
scripted = EvaluationConfig(metrics=[MetricConfig(name="Coverage", model="test:judge")])
answers = [
    ("How long is the leave?", "The leave lasts 20 days [1].", "The leave lasts 20 days."),
    ("年假有几天？", "年假有15天[1]。", "年假有15天。"),
    ("休暇は何日ですか。", "休暇は20日です[1]。", "休暇は20日です。"),
]


def request(query, submission, evidence, config=None):
    return EvaluationRequest(user_query=query, submission=submission, team_id="t", context=[evidence], config=config)


local = [Evaluator().evaluate(request(*answer)).overall_score for answer in answers]
loopback = Evaluator().evaluate(request(*answers[0], judged)).overall_score
script = Evaluator(llm=ScriptedLLM({"reason": "Good.", "score": 90})).evaluate(request(*answers[1], scripted))
print(json.dumps([local, loopback, script.overall_score]))
"""


def test_without_lancedb_langgraph_and_onnxruntime(server: LoopbackServer) -> None:
    """B1, B5, B10: local metrics in three languages, a judge over HTTP and a scripted judge."""
    server.respond_with(verdict(80))
    environment = {**os.environ, "OPENAI_API_KEY": "sk-test"}
    command = [sys.executable, "-W", "error", "-c", PROGRAM]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, env=environment)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert json.loads(ran.stdout) == [[100, 100, 100], 80, 90]
