"""Models that run on this machine: which ones are known, where pulled ones are, and how one is pulled.

`embedding` and `reranking` run them.
"""

from veracity.local_models.known import KnownModel, find_known, known_models
from veracity.local_models.models_folder import LocalModel, ModelsFolder

__all__ = ["KnownModel", "LocalModel", "ModelsFolder", "find_known", "known_models"]
