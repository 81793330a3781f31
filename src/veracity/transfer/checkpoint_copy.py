"""Copies the checkpoints of runs that are not done with LangGraph's own savers, whose formats differ."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple

from veracity.errors import LedgerError
from veracity.runs.checkpoints import are_needed


def copy_checkpoints(source: BaseCheckpointSaver[Any], target: BaseCheckpointSaver[Any], run_ids: Iterable[str]) -> int:
    """Returns the number of runs that have checkpoints. Raises `LedgerError` if a copy differs."""
    count = 0
    for run_id in run_ids:
        thread: RunnableConfig = {"configurable": {"thread_id": run_id}}
        before = list(source.list(thread))
        for checkpoint in reversed(before):  # oldest first
            _put(target, checkpoint)
        after = list(target.list(thread))
        if [_content(target, each) for each in after] != [_content(source, each) for each in before]:
            raise LedgerError(
                f'The copy of the checkpoints of run "{run_id}" differs: nothing was changed; report this as a defect.'
            )
        count += bool(before)
    return count


def _put(target: BaseCheckpointSaver[Any], stored: CheckpointTuple) -> None:
    configurable = stored.config["configurable"]
    parent = stored.parent_config["configurable"]["checkpoint_id"] if stored.parent_config else None
    place = {"thread_id": configurable["thread_id"], "checkpoint_ns": configurable.get("checkpoint_ns", "")}
    before: RunnableConfig = {"configurable": {**place, **({"checkpoint_id": parent} if parent else {})}}
    versions = stored.checkpoint["channel_versions"]
    config = target.put(before, stored.checkpoint, stored.metadata, versions)
    for task_id, writes in _needed_writes(stored).items():
        target.put_writes(config, writes, task_id)


def _needed_writes(stored: CheckpointTuple) -> dict[str, list[tuple[str, Any]]]:
    """By task. The savers store no others; those of earlier versions did."""
    writes: defaultdict[str, list[tuple[str, Any]]] = defaultdict(list)
    for task_id, channel, value in stored.pending_writes or ():
        writes[task_id].append((channel, value))
    return {task_id: of_task for task_id, of_task in writes.items() if are_needed(of_task)}


def _content(saver: BaseCheckpointSaver[Any], stored: CheckpointTuple) -> Any:
    checkpoint, serde = stored.checkpoint, saver.serde
    parent = stored.parent_config and stored.parent_config["configurable"]["checkpoint_id"]
    values = {name: serde.dumps_typed(value) for name, value in checkpoint["channel_values"].items()}
    writes = sorted(
        (task_id, channel, serde.dumps_typed(value))
        for task_id, of_task in _needed_writes(stored).items()
        for channel, value in of_task
    )
    return checkpoint["id"], parent, values, writes
