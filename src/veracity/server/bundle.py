"""Joins the page's modules into one script, so that a browser fetches one file instead of sixty.

Each module becomes a function that returns its exports, and an import becomes a call of it. Comments that fill whole
lines, and types, are left out: they are a fifth of the transferred bytes. All else stays as it is. It knows the forms
of import and export that the page and its libraries use, and refuses others.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterator, Mapping

_IMPORT = re.compile(r"""^import\s*(\w+)?\s*(?:\{([^}]*)\})?\s*from\s*["']([^"']+)["'];?""", re.MULTILINE)
_EXPORT_FROM = re.compile(r"""^export\s*\{([^}]*)\}\s*from\s*["']([^"']+)["'];?""", re.MULTILINE)
_EXPORT_LIST = re.compile(r"(?:^|(?<=[;}]))export\s*\{([^}]*)\};?", re.MULTILINE)
_EXPORT_DEFAULT = re.compile(r"(?:^|(?<=;))export default function\b", re.MULTILINE)
_EXPORT_NAME = re.compile(r"^export ((?:async )?function|const|class) (\w+)", re.MULTILINE)
_COMMENT = re.compile(r"^[ \t]*(?:/\*\*(?:[^*]|\*(?!/))*\*/[ \t]*|//.*)\n", re.MULTILINE)
_TYPE = re.compile(r"/\*\* @(?:type|param|template) (?:[^*]|\*(?!/))*\*/ ?")
_OTHER = re.compile(r"^(?:import|export)\b|(?<!\w)import\(", re.MULTILINE)

_HEAD = "const $loaded = {};\nconst $load = (name) => ($loaded[name] ??= $modules[name]());\nconst $modules = {\n"


def bundle(main: str, read: Callable[[str], str]) -> str:
    """One module that does what `main` does. `read` returns the text of a module by its path."""
    modules: dict[str, str] = {}
    queue = [main]
    for name in queue:
        if name not in modules:
            modules[name], imported = _as_function(name, read(name))
            queue += imported
    body = "".join(f'"{name}": async () => {{\n{text}\n}},\n' for name, text in modules.items())
    return f'{_HEAD}{body}}};\nawait $load("{main}");\n'


def _as_function(name: str, text: str) -> tuple[str, list[str]]:
    """The body of a module's function, and the modules it imports."""
    exports: dict[str, str] = {}
    imported: list[str] = []

    def load(path: str) -> str:
        target = posixpath.normpath(posixpath.join(posixpath.dirname(name), path))
        imported.append(target)
        return f'await $load("{target}")'

    def replace_import(match: re.Match[str]) -> str:
        default, names, path = match.groups()
        parts = [f"default: {default}"] if default else []
        parts += [f"{outer}: {inner}" for outer, inner in _pairs(names or "")]
        return f"const {{ {', '.join(parts)} }} = {load(path)};"

    def replace_export_from(match: re.Match[str]) -> str:
        pairs = [(inner, f"${outer}", outer) for inner, outer in _pairs(match[1])]
        exports.update({outer: local for _, local, outer in pairs})
        return f"const {{ {', '.join(f'{inner}: {local}' for inner, local, _ in pairs)} }} = {load(match[2])};"

    def replace_export_list(match: re.Match[str]) -> str:
        exports.update({outer: inner for inner, outer in _pairs(match[1])})
        return ""

    def replace_export_name(match: re.Match[str]) -> str:
        exports[match[2]] = match[2]
        return f"{match[1]} {match[2]}"

    text = _TYPE.sub("", _COMMENT.sub("", text))
    text = _IMPORT.sub(replace_import, text)
    text = _EXPORT_FROM.sub(replace_export_from, text)
    text = _EXPORT_LIST.sub(replace_export_list, text)
    text = _EXPORT_NAME.sub(replace_export_name, text)
    if _EXPORT_DEFAULT.search(text):
        text, exports["default"] = _EXPORT_DEFAULT.sub("const $default = function", text), "$default"
    if other := _OTHER.search(text):
        raise ValueError(
            f"{name} has a form of import or export that cannot be bundled: {text[other.start() :][:60]!r}"
        )
    text = text.replace("import.meta.url", f'new URL("{name}", import.meta.url)')
    return f"{text}\nreturn {{ {_listed(exports)} }};", imported


def _pairs(names: str) -> Iterator[tuple[str, str]]:
    """`a, b as c` as (a, a), (b, c)."""
    for item in filter(None, (part.strip() for part in names.split(","))):
        first, _, second = item.partition(" as ")
        yield first.strip(), (second or first).strip()


def _listed(exports: Mapping[str, str]) -> str:
    return ", ".join(name if name == local else f"{name}: {local}" for name, local in exports.items())
