"""Regular expressions that are compiled on first use: compiling all takes as long as a short command."""

import re
from typing import Any, cast


def lazy_pattern(source: str, flags: int = 0) -> re.Pattern[str]:
    """Like `re.compile`, but a mistake in the source is found on first use."""
    return cast(re.Pattern[str], LazyPattern(source, flags))


class LazyPattern:
    """Has the methods of a compiled expression. Pass it to no function of `re`, which accepts only compiled ones."""

    def __init__(self, source: str, flags: int) -> None:
        self.pattern = source
        self._flags = flags

    def __getattr__(self, name: str) -> Any:
        """The first use of any method copies all of them from the compiled expression."""
        compiled = re.compile(self.pattern, self._flags)
        for own in dir(compiled):
            if not own.startswith("_"):
                setattr(self, own, getattr(compiled, own))
        return getattr(compiled, name)
