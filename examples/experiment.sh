#!/bin/sh
# A CI job: ingests the documents of a checkout, runs a suite, and fails if its gate fails.
#
#   examples/experiment.sh WORKSPACE DOCUMENTS SUITE
#
# WORKSPACE/evals/SUITE.jsonl has the cases, WORKSPACE/evals/SUITE.toml the gate. See docs/experiments.md.
set -eu
workspace=$1 documents=$2 suite=$3

veracity ingest "$documents" --workspace "$workspace"
veracity experiment check "$suite" --workspace "$workspace"

status=0
veracity experiment run "$suite" --name ci --gate --workspace "$workspace" || status=$?

# For the summary of a pull request, and for the test report of the CI system.
if [ -e "$workspace/experiments/ci/summary.md" ]; then
    cat "$workspace/experiments/ci/summary.md"
    echo "JUnit: $workspace/experiments/ci/junit.xml"
fi
case $status in
    0) echo "The gate passed." ;;
    1) echo "The gate failed." ;;
    6) echo "Too few cases to tell: add some, or widen the margin." ;;
esac
exit "$status"
