"""Chinese words and their tags. The dictionary is loaded on first use: texts in other languages need none."""


def cut(text: str, guess_words: bool = True) -> list[str]:
    """The words of a text. With `guess_words`, also words that the dictionary does not have."""
    import rjieba  # noqa: PLC0415 - builds its dictionary

    return rjieba.cut(text, guess_words)


def cut_for_search(text: str) -> list[str]:
    """Words, and the shorter words that they contain."""
    import rjieba  # noqa: PLC0415 - builds its dictionary

    return rjieba.cut_for_search(text)


def tag(text: str) -> list[tuple[str, str]]:
    """Words with the tags of their parts of speech, such as "n" and "v"."""
    import rjieba  # noqa: PLC0415 - builds its dictionary

    return rjieba.tag(text)
