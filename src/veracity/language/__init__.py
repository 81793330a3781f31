"""Language, sentences, words and names of English, Chinese and Japanese text. Every function runs in linear time."""

from veracity.language.entities import entities, title_entity
from veracity.language.scripts import Language, guess_language, possible_languages
from veracity.language.sentences import Sentence, sentences
from veracity.language.words import (
    Token,
    content_tokens,
    is_common,
    matching_spans,
    normalized,
    search_tokens,
    tokens,
    tokens_in_place,
)

__all__ = [
    "Language",
    "Sentence",
    "Token",
    "content_tokens",
    "entities",
    "guess_language",
    "is_common",
    "matching_spans",
    "normalized",
    "possible_languages",
    "search_tokens",
    "sentences",
    "title_entity",
    "tokens",
    "tokens_in_place",
]
