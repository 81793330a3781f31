"""E-mails with attachments: .eml and Outlook's .msg."""

import random
from email.message import EmailMessage

import pytest

from tests.reading import documents, ole
from tests.reading.reads import assert_clean, refusal, text_of
from veracity.reading.base import Unreadable
from veracity.reading.extract import extract

RULES = "退货须在三十天内办理。"


def mail(subject: str = "返品の件", text: str = "返品は三十日以内です。") -> EmailMessage:
    message = EmailMessage()
    message["From"], message["To"] = "会员服务 <service@example.org>", "Ann <ann@example.org>, bob@example.org"
    message["Subject"], message["Date"] = subject, "Sun, 01 Mar 2026 09:30:00 +0000"
    message.set_content(text)
    return message


def test_headers_text_and_attachments() -> None:
    message = mail()
    message.add_alternative("<p>An HTML version that is not read.</p>", subtype="html")
    message.add_attachment(documents.docx("# Rules", RULES), maintype="application", subtype="x", filename="规则.docx")
    message.add_attachment(b"\x7fELF\0\0", maintype="application", subtype="octet-stream", filename="tool.bin")
    reading = extract(message.as_bytes(), "mail.eml")
    assert_clean(reading)
    assert reading.text.split("\n\n") == [
        "Subject: 返品の件\nFrom: 会员服务 <service@example.org>\nTo: Ann <ann@example.org>, bob@example.org\n"
        "Date: Sun, 01 Mar 2026 09:30:00 +0000",
        "返品は三十日以内です。",
        "# 规则.docx",
        "## Rules",
        RULES,
        "# Not read",
        "- tool.bin: its format is not supported (program)",
    ]
    assert (reading.title, reading.format, reading.markdown) == ("返品の件", "eml", True)


def test_html_is_read_if_there_is_no_plain_text() -> None:
    message = EmailMessage()
    message["Subject"] = "Fees"
    message.set_content("<p>The fee is <b>25</b> euros.</p><script>x()</script>", subtype="html")
    assert text_of(message.as_bytes(), "a.eml") == "Subject: Fees\n\nThe fee is 25 euros."


@pytest.mark.parametrize("encoding", ["iso-2022-jp", "shift_jis", "gb18030", "utf-8"])
def test_encodings(encoding: str) -> None:
    text = "返品は三十日以内です。" if encoding != "gb18030" else RULES
    head = f'Subject: x\nContent-Type: text/plain; charset="{encoding}"\nContent-Transfer-Encoding: 8bit\n\n'
    assert text_of(head.encode() + text.encode(encoding), "a.eml").endswith(text)


def test_headers_with_undeclared_bytes_and_unknown_encodings() -> None:
    content = "Subject: 返品の件\nFrom: <<@@>>,;\nDate: no date\nContent-Type: text/plain; charset=x-unknown\n\n退货"
    reading = extract(content.encode(), "a.eml")
    assert_clean(reading)
    assert (reading.title, reading.text.split("\n")[-1]) == ("返品の件", "退货")


def test_mails_inside_of_mails() -> None:
    message = mail("level 0", "text 0")
    for level in range(1, 6):
        outer = mail(f"level {level}", f"text {level}")
        outer.add_attachment(message, filename=f"{level - 1}.eml")
        message = outer
    text = text_of(message.as_bytes(), "a.eml")
    assert ("text 3" in text, "text 2" in text) == (True, False)
    assert "- 2.eml: archives and e-mails are read two levels deep" in text


def test_a_mail_without_headers_is_damaged() -> None:
    assert refusal(b"hello\n\nworld", "a.eml").reason == "it is damaged: it has none of the headers of an e-mail"


def test_outlook() -> None:
    long = RULES * 200  # the files that the tests build have no short attachments
    content = ole.msg(
        "返品について", "本文です。", {"rules.txt": long.encode(), "规则.docx": documents.docx("# Rules", "Text")}
    )
    reading = extract(content, "a.msg")
    assert_clean(reading)
    assert reading.text.split("\n\n") == [
        "Subject: 返品について\nFrom: Aiko <aiko@example.org>\nDate: 2026-03-01 09:30 UTC",
        "本文です。",
        "# rules.txt",
        long,
        "# 规则.docx",
        "## Rules",
        "Text",
    ]
    assert (reading.title, reading.format) == ("返品について", "msg")


@pytest.mark.parametrize("kind", ["eml", "msg"])
def test_randomly_damaged_mails(kind: str) -> None:
    message = mail()
    message.add_attachment(documents.docx("Text"), maintype="application", subtype="x", filename="a.docx")
    whole = message.as_bytes() if kind == "eml" else ole.msg("Fees", "25 euros", {"a.txt": b"x" * 5_000})
    generator = random.Random(kind)
    for _ in range(60):
        content = bytearray(whole)
        for _ in range(generator.randint(1, 8)):
            content[generator.randrange(len(content))] = generator.randrange(256)
        if generator.random() < 0.3:
            del content[generator.randrange(len(content)) :]
        try:
            assert_clean(extract(bytes(content), f"a.{kind}"))
        except Unreadable as problem:
            assert problem.reason
