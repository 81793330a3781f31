"""A file is read, or one sentence says what is wrong with it (SPEC B8, B13, B16)."""

import os
from pathlib import Path

import pytest

from tests.test_secrets import KEYS
from veracity.errors import ConfigurationError
from veracity.settings.toml import MAX_FILE_BYTES, alternatives, assigned, dotted, parse, read_bytes

PATH = Path("file.toml")


def refusal(content: bytes | str) -> str:
    with pytest.raises(ConfigurationError) as caught:
        parse(content.encode() if isinstance(content, str) else content, PATH)
    message = str(caught.value)
    assert "\n" not in message and len(message) < 500
    return message


class TestReading:
    def test_reads_the_content(self, tmp_path: Path) -> None:
        (tmp_path / "a").write_bytes(b"x")
        (tmp_path / "link").symlink_to(tmp_path / "a")
        assert read_bytes(tmp_path / "a") == read_bytes(tmp_path / "link") == b"x"
        assert read_bytes(tmp_path / "absent") is None

    def test_b8_a_folder_a_pipe_and_a_broken_link(self, tmp_path: Path) -> None:
        (tmp_path / "folder").mkdir()
        os.mkfifo(tmp_path / "pipe")
        (tmp_path / "link").symlink_to(tmp_path / "absent")
        (tmp_path / "circle").symlink_to(tmp_path / "circle")
        for name, told in {
            "folder": "is not a file",
            "pipe": "is not a file",
            "link": "is a broken link",
            "circle": "cannot be read",
            "pipe/below": "cannot be read (Not a directory)",
        }.items():
            with pytest.raises(ConfigurationError) as caught:
                read_bytes(tmp_path / name)
            assert f"{tmp_path / name} {told}" in str(caught.value)

    def test_b8_no_permission(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        (tmp_path / "a").write_bytes(b"x")

        def refuse(*_: object) -> None:
            raise PermissionError(13, "Permission denied")

        monkeypatch.setattr(Path, "open", refuse)
        with pytest.raises(
            ConfigurationError, match=r"a cannot be read \(Permission denied\): make it a readable file"
        ):
            read_bytes(tmp_path / "a")

    def test_b8_two_megabytes(self, tmp_path: Path) -> None:
        (tmp_path / "a").write_bytes(b"#" * MAX_FILE_BYTES)
        assert read_bytes(tmp_path / "a")
        (tmp_path / "a").write_bytes(b"#" * 2 * MAX_FILE_BYTES)
        with pytest.raises(ConfigurationError, match="is larger than 1,000,000 bytes"):
            read_bytes(tmp_path / "a")


class TestParsing:
    @pytest.mark.parametrize("content", [b"", b"# only a comment\n", b"\xef\xbb\xbf# with a byte order mark", b"\r\n"])
    def test_b16_an_empty_file_is_a_document(self, content: bytes) -> None:
        assert parse(content, PATH) == {}

    @pytest.mark.parametrize(
        "content",
        [b"\xff\xfe\x00\x01", b"\x7fELF\x00\x80", "a = 1".encode("utf-16"), "a = 1".encode("utf-16-le"), b"a = '\x00'"],
    )
    def test_b8_binary_files_are_refused(self, content: bytes) -> None:
        assert refusal(content) == "file.toml is not UTF-8 text: save it as UTF-8."

    @pytest.mark.parametrize(
        ("content", "place"),
        [
            ('[[metrics]]\nname = "Cov', "at end of document"),
            ("[[metrics]\n", "at line 1, column 10"),
            ("a = 1\nb\n", "at line 2, column 2"),
            ("[a]\n[a]\n", "at line 2, column 3"),
            ("a = 1\na = 2\n", "at line 2, column 6"),
            ("a = {b = 1, b = 2}\n", "at line 1, column 18"),
            ("a = 'x\ty\x1b'", "at line 1, column 9"),
        ],
    )
    def test_b16_a_truncated_file_names_the_line(self, content: str, place: str) -> None:
        message = refusal(content)
        assert message.startswith("file.toml is not valid TOML: ") and message.isprintable()
        assert message.endswith(f" ({place}): fix it there.")

    @pytest.mark.parametrize(
        "content",
        [
            "a = " + "[" * 10_000,
            "a = " + "{a=" * 10_000,
            "a" + ".a" * 200_000 + " = 1",  # needs all the memory there is, if it is parsed
            "['a'" + ".'a'" * 100_000 + "]",
            'a."b"' + ' . "b"' * 100_000 + " = 1",
            "".join("[" + ".".join(["a"] * length) + "]\n" for length in range(90, 100))
            + "a = "
            + "[" * 900
            + "]" * 900,
        ],
    )
    def test_b8_deep_nesting_is_refused(self, content: str) -> None:
        assert refusal(content) == "file.toml nests its values too deeply: flatten it."

    def test_b8_a_number_of_ten_thousand_digits(self) -> None:
        assert refusal("a = " + "9" * 10_000) == "file.toml has a number with too many digits: write a smaller one."

    def test_b8_long_names_in_parser_messages_are_cut(self) -> None:
        message = refusal(f"['{'x' * 5000}']\n['{'x' * 5000}']")
        assert len(message) < 200 and "(at line 2, column" in message


class TestCredentials:
    @pytest.mark.parametrize("key", KEYS)
    @pytest.mark.parametrize(
        ("form", "place"),
        [
            ("[a]\nb = '{}'", "a.b"),
            ("[[m]]\n[[m]]\nx = ['', '{}']", "m[2].x[2]"),
            ("'{}' = 1", "the top level"),
            ("[a.'{}']\nb = 1", "a"),
            ("[a]\nb = {}", "line 2"),
            ("a = 'x\n'{}'", "line 2"),
            ("[a]\n'{}' = 1\n'{}' = 2", "line 2"),
            ("b = {{'{}' = 1, '{}' = 2}}", "line 1"),
        ],
    )
    def test_b13_credentials_are_refused_and_not_shown(self, key: str, form: str, place: str) -> None:
        message = refusal(form.replace("{{", "{").replace("}}", "}").replace("{}", key))
        assert message.startswith(f"file.toml, {place}: this looks like a credential (not shown)")
        assert key not in message

    def test_b13_a_field_named_like_a_credential_is_refused(self) -> None:
        assert "file.toml, a.api_key: this looks like a credential" in refusal("[a]\napi_key = 'hunter2'")
        assert "hunter2" not in refusal("api_key = hunter2")
        assert "file.toml, token: this looks like a credential" in refusal("token = 123456")
        assert parse(b"max_tokens = 100", PATH) == {"max_tokens": 100}

    def test_b13_a_private_key_of_many_lines(self) -> None:
        block = "-----BEGIN RSA PRIVATE KEY-----\nMIIEow\n-----END RSA PRIVATE KEY-----"
        assert refusal(f'a = """\n{block}"""').startswith("file.toml, a: ")
        assert refusal(f"a = '{block}'").startswith("file.toml, line 1: ")


def test_b8_places_count_from_one_and_are_short() -> None:
    assert dotted(("metrics", 1, "weight")) == "metrics[2].weight"
    assert dotted(()) == "the top level"
    assert dotted(("a",) * 50) == "a." * 9 + "a…"
    assert dotted(("x" * 500, "a\nb")) == "x" * 60 + "….a\\nb"


def test_b8_values_are_shown_as_written() -> None:
    assert [assigned(value) for value in (True, 1.5, "hot", float("nan"), None, [1], {"a": 1})] == [
        " = true", " = 1.5", " = 'hot'", " = nan", "", "", "",
    ]  # fmt: skip
    assert [assigned(value) for value in (KEYS[0], "x" * 61, 1 << 40_000)] == ["", "", ""]


def test_b8_suggestions() -> None:
    assert alternatives("wieght", ["name", "weight"]) == ' (did you mean "weight"?); known: name, weight'
    assert alternatives("x" * 10_000, ["name", "weight"]) == "; known: name, weight"
