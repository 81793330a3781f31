"""Where the files of a workspace are. Knows nothing about what they say."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from veracity.errors import ConfigurationError, reason_of
from veracity.settings.toml import read_bytes


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
    def observations_file(self) -> Path:
        return self.root / "observational_data.json"

    @property
    def prompts_folder(self) -> Path:
        return self.root / "prompts"

    def metric_files(self) -> list[Path]:
        """Files that start with an underscore are the metrics' own business, hidden ones their editor's."""
        try:
            paths = sorted(self.metrics_folder.iterdir())
        except FileNotFoundError:
            return []
        except OSError as problem:
            raise ConfigurationError(
                f"{self.metrics_folder} cannot be read ({reason_of(problem)}): make it a readable folder or remove it."
            ) from None
        return [path for path in paths if path.suffix == ".py" and not path.name.startswith(("_", "."))]

    def contents(self) -> dict[Path, bytes]:
        """Every file that configures the evaluator, as it is now: what is equal needs no reload."""
        paths = [self.settings_file, self.evaluator_file, *self.metric_files()]
        read = ((path, read_bytes(path)) for path in paths)
        return {path: content for path, content in read if content is not None}


def open_workspace(directory: Path | str) -> Workspace:
    root = Path(directory)
    try:
        there = root.is_dir()
    except OSError as problem:
        raise ConfigurationError(f'The workspace "{root}" cannot be read ({reason_of(problem)}).') from None
    if not there and root.exists():
        raise ConfigurationError(f'The workspace "{root}" is not a directory: name the directory that holds it.')
    if not there:
        raise ConfigurationError(f'There is no workspace "{root}": create it with "veracity init {root}".')
    return Workspace(root)


def workspace_or_here(named: Path | None) -> Path | None:
    """The one that was named, else the current directory if it is one. A folder that merely has `metrics/` is not."""
    here = Workspace(Path())
    marks = (here.settings_file, here.evaluator_file, here.knowledge_folder / "passages.lance")
    is_one = any(path.exists() for path in marks)
    return named or (here.root if is_one else None)
