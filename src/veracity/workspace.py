"""Finds, opens and creates workspaces; defines the paths of their files."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

from veracity.errors import ConfigurationError, FullDiskError, InputError, reason_of
from veracity.settings import ApprovalSettings, Settings
from veracity.settings.toml import read_bytes
from veracity.version import __version__

CHAT_HISTORY_FILE = "chat_history"  # of the terminal, in the folder of the ledger


@dataclass(frozen=True, slots=True)
class Workspace:
    root: Path

    @property
    def settings_file(self) -> Path:
        return self.root / "veracity.toml"

    @property
    def evaluator_file(self) -> Path:
        return self.root / "configs" / "evaluator.toml"

    @property
    def metrics_folder(self) -> Path:
        return self.root / "metrics"

    @property
    def knowledge_folder(self) -> Path:
        return self.root / "knowledge"

    @property
    def uploads_folder(self) -> Path:
        return self.root / "uploads"

    @property
    def ledger_folder(self) -> Path:
        return self.root / "ledger"

    @property
    def chat_history_file(self) -> Path:
        return self.ledger_folder / CHAT_HISTORY_FILE

    @property
    def observations_file(self) -> Path:
        return self.root / "observational_data.json"

    @property
    def prompts_folder(self) -> Path:
        return self.root / "prompts"

    @property
    def suites_folder(self) -> Path:
        return self.root / "evals"

    @property
    def experiments_folder(self) -> Path:
        return self.root / "experiments"

    def metric_files(self) -> list[Path]:
        """The Python files of metrics. Files whose name starts with an underscore or a dot are ignored."""
        try:
            paths = sorted(self.metrics_folder.iterdir())
        except FileNotFoundError:
            return []
        except OSError as error:
            raise ConfigurationError(
                f"{self.metrics_folder} cannot be read ({reason_of(error)}): make it a readable folder or remove it."
            ) from None
        return [path for path in paths if path.suffix == ".py" and not path.name.startswith(("_", "."))]

    def contents(self) -> dict[Path, bytes]:
        """The current content of every file that configures the evaluator, to detect changes."""
        paths = [self.settings_file, self.evaluator_file, *self.metric_files()]
        return {path: content for path in paths if (content := read_bytes(path)) is not None}


def hash_configuration(workspace: Workspace, settings: Settings) -> str:
    """Equal for processes that give the same answers: of the version, the settings, the metrics and the prompts. How a
    server listens and where its models are does not count, nor a calibrated threshold: each follows the statement."""
    if settings.approval.calibrated:
        approval = settings.approval.with_thresholds(ApprovalSettings().threshold, {})
        settings = settings.model_copy(update={"approval": approval})
    return _digest(f"{name} {part}\n".encode() for name, part in hash_parts(workspace, settings).items())


def hash_parts(workspace: Workspace, settings: Settings) -> dict[str, str]:
    """A hash for each part of the configuration."""
    counted = settings.model_dump_json(exclude={"server": True, "worker": True, "models": {"folder"}})
    prompts = sorted(path for path in workspace.prompts_folder.rglob("*") if path.is_file())
    return {
        "package": __version__,
        "settings": _digest([counted.encode()]),
        "metrics": _hash_files(workspace, workspace.evaluator_file, *workspace.metric_files()),
        "prompts": _hash_files(workspace, *prompts),
    }


def _hash_files(workspace: Workspace, *paths: Path) -> str:
    contents = ((path.relative_to(workspace.root), read_bytes(path)) for path in paths)
    return _digest(f"\n{path}\n".encode() + content for path, content in contents if content is not None)


def _digest(pieces: Iterable[bytes]) -> str:
    digest = hashlib.sha256()
    for piece in pieces:
        digest.update(piece)
    return digest.hexdigest()[:16]


REPORTS = ("report.html", "summary.md", "junit.xml")  # of an experiment; they quote receipts


def remove_reports(experiments: Path) -> None:
    """Remove the reports of all experiments, because they may quote what was forgotten. They can be written again."""
    for name in REPORTS:
        for file in experiments.glob(f"*/{name}"):
            file.unlink(missing_ok=True)


def make_private_folder(folder: Path) -> None:
    """Create it, unless it exists, so that only its owner can read what is in it. Raises `OSError`."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)


def open_workspace(directory: Path | str) -> Workspace:
    """Raises `ConfigurationError` if the directory does not exist or cannot be read."""
    root = Path(directory)
    try:
        is_directory = root.is_dir()
    except OSError as error:
        raise ConfigurationError(f'The workspace "{root}" cannot be read ({reason_of(error)}).') from None
    if not is_directory and root.exists():
        raise ConfigurationError(f'The workspace "{root}" is not a directory: name the directory of the workspace.')
    if not is_directory:
        raise ConfigurationError(f'There is no workspace "{root}": create it with "veracity init {root}".')
    return Workspace(root)


def find_workspace(directory: Path | None) -> Path | None:
    """The given directory, else the current directory if it is a workspace. A `metrics/` folder alone is not enough."""
    current = Workspace(Path())
    markers = (current.settings_file, current.evaluator_file, current.knowledge_folder / "passages.lance")
    return directory or (current.root if any(path.exists() for path in markers) else None)


def require_workspace(directory: Path | None) -> Path:
    """The given directory, which may not exist yet, else the current directory if it is a workspace."""
    root = find_workspace(directory)
    if root is None:
        raise ConfigurationError(
            'This directory is not a workspace: create one with "veracity init", or name one with --workspace DIR.'
        )
    return root


def require_existing_workspace(directory: Path | None) -> Path:
    """Like `require_workspace`, but the directory must be a workspace already."""
    workspace = open_workspace(require_workspace(directory))
    markers = (workspace.settings_file, workspace.evaluator_file, workspace.knowledge_folder, workspace.ledger_folder)
    if not any(path.exists() for path in markers):
        raise ConfigurationError(f'{workspace.root} is not a workspace: create one there with "veracity init".')
    return workspace.root


def require_space(directory: Path, megabytes: int) -> None:
    """Raise `FullDiskError` if the disk of the directory has less free space."""
    try:
        free = shutil.disk_usage(directory).free
    except OSError as error:
        raise ConfigurationError(f'The workspace "{directory}" cannot be read ({reason_of(error)}).') from None
    if free < megabytes * 1_000_000:
        raise FullDiskError(
            f'The disk of "{directory}" has {free // 1_000_000:,} MB left, less than the {megabytes:,} MB of '
            "server.free_megabytes: free some disk space."
        )


def create_workspace(directory: Path) -> Iterator[tuple[Path, bool]]:
    """Writes commented settings, an evaluator configuration and an example metric. Yields each file and whether it was
    created; existing files are kept."""
    for path, template in _templates(files("veracity") / "templates", directory):
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("xb") as file:
                file.write(template.read_bytes())
        except OSError as error:
            if not path.is_file():
                raise InputError(f"{path} cannot be created ({reason_of(error)}): choose another directory.") from None
            yield path, False
        else:
            yield path, True


def _templates(folder: Traversable, target: Path) -> Iterator[tuple[Path, Traversable]]:
    for entry in sorted(folder.iterdir(), key=lambda entry: entry.name):
        if not entry.is_dir():
            yield target / entry.name, entry
        elif entry.name != "__pycache__":
            yield from _templates(entry, target / entry.name)
