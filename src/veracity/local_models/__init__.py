"""Models that run on this machine: which ones are known, where pulled ones are, and how one is pulled.

Knows nothing about running them: see `embedding` and `reranking`.
"""

from veracity.local_models.known import KnownModel, find_known, known_models
from veracity.local_models.models_folder import LocalModel, ModelsFolder

__all__ = ["KnownModel", "LocalModel", "ModelsFolder", "find_known", "known_models"]
