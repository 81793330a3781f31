"""Detecting the encoding of short texts."""

import codecs

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.reading.reads import refusal, text_of
from veracity.reading.encodings import decode

JAPANESE = [
    "返品は購入日から三十日以内に受け付けます。レシートをお持ちください。",
    "サーバーの再起動は管理者だけが行えます。",
    "会議は午後三時から始まります",
    "東京都の人口は約千四百万人です。",
    "パスワードを忘れた場合はヘルプデスクに連絡してください。",
    "有給休暇は年二十日",
    "日本語のメモ",
    "株式会社山田商事",
    "注文番号1234の配送状況を確認する",
    "Veracity の設定ファイルは UTF-8 で保存します。",
]
SIMPLIFIED = [
    "退货须在购买之日起三十天内办理，请携带收据。",
    "服务器只能由管理员重新启动。",
    "会议下午三点开始",
    "北京市的人口约为两千二百万。",
    "如果忘记密码，请联系技术支持部门。",
    "员工每年有二十天年假",
    "中文笔记",
    "咖啡机位于三楼厨房",
    "订单号1234的配送状态",
    "Veracity 的配置文件用 UTF-8 保存。",
]
TRADITIONAL = [
    "退貨須在購買之日起三十天內辦理，請攜帶收據。",
    "伺服器只能由管理員重新啟動。",
    "會議下午三點開始",
    "臺北市的人口約為兩百五十萬。",
    "如果忘記密碼，請聯絡技術支援部門。",
    "員工每年有二十天年假",
]
KOREAN = [
    "반품은 구입일로부터 30일 이내에 가능합니다. 영수증을 지참하십시오.",
    "서버는 관리자만 다시 시작할 수 있습니다.",
    "회의는 오후 세 시에 시작합니다",
    "서울의 인구는 약 천만 명입니다.",
]
LATIN = [
    "Le café est fermé le dimanche.",
    "Die Bücher müssen für die Schüler übersetzt werden.",
    "Größe",
    "café",
    "El niño comió piñas mañana",
    "Ein Fußgänger überquert die Straße – „schnell“",
    "L’été dernier, nous étions à la plage.",
    "Kostet 50 €",
    "Årets største tilbud på øl",
]
WIDE = ["utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"]
CASES = [
    (encoding, text)
    for encodings, texts in (
        (["cp932", "shift_jis", "euc_jp", "iso2022_jp", "utf-8", *WIDE], JAPANESE),
        (["gb18030", "gbk", "gb2312", "utf-8", *WIDE], SIMPLIFIED),
        (["big5", "utf-8", *WIDE], TRADITIONAL),
        (["euc_kr", "utf-8", *WIDE], KOREAN),
        (["cp1252", "utf-8", *WIDE], LATIN),
    )
    for encoding in encodings
    for text in texts
]
MARKS = {
    "utf-8": codecs.BOM_UTF8,
    "utf-16-le": codecs.BOM_UTF16_LE,
    "utf-16-be": codecs.BOM_UTF16_BE,
    "utf-32-le": codecs.BOM_UTF32_LE,
    "utf-32-be": codecs.BOM_UTF32_BE,
}


@pytest.mark.parametrize(("encoding", "text"), CASES)
def test_short_text_in_every_encoding(encoding: str, text: str) -> None:
    assert decode(text.encode(encoding)) == text


@pytest.mark.parametrize("encoding", MARKS)
@pytest.mark.parametrize("text", [JAPANESE[0], SIMPLIFIED[0], LATIN[0], "plain"])
def test_a_byte_order_mark_is_trusted_and_removed(encoding: str, text: str) -> None:
    assert text_of(MARKS[encoding] + text.encode(encoding), "note.txt") == text


@pytest.mark.parametrize(
    ("encoding", "text"),
    [("cp1251", "Привет, как дела? Это проверка кодировки."), ("iso8859-7", "Ελληνικά κείμενο εδώ")],
)
def test_other_alphabets(encoding: str, text: str) -> None:
    assert decode(text.encode(encoding)) == text


def test_a_few_broken_bytes_do_not_change_the_encoding() -> None:
    text = SIMPLIFIED[0] * 50
    assert SIMPLIFIED[0] in decode(text.encode("utf-8") + b"\xff" + text.encode("utf-8"))
    assert JAPANESE[0] in decode((JAPANESE[0] * 50).encode("cp932") + b"\xff\xff" + JAPANESE[0].encode("cp932"))


@pytest.mark.parametrize(
    ("encoding", "text"), [("cp1252", LATIN[1]), ("cp932", JAPANESE[0]), ("gb18030", SIMPLIFIED[0])]
)
@pytest.mark.parametrize("gap", [" plain words", "\nplain line"])
def test_the_first_non_ascii_letter_may_come_late(encoding: str, text: str, gap: str) -> None:
    whole = gap * 10_000 + " " + text
    assert decode(whole.encode(encoding)) == whole


def test_terminal_colours_are_removed() -> None:
    assert text_of(b"\x1b[1;31merror\x1b[0m: disk full\n", "a.log") == "error: disk full"


def test_a_character_split_by_the_sample_boundary() -> None:
    for lead in ("", "a", "ab"):
        text = lead + JAPANESE[0] * 2_000
        assert decode(text.encode("cp932")) == text


@pytest.mark.parametrize("junk", [bytes(range(256)) * 4, b"\0" * 100, b"ab\0\1\2\3" * 50, b"\x01\x02\x03 text"])
def test_binary_junk_is_not_text(junk: bytes) -> None:
    assert refusal(junk, "note.txt").status == "skipped"


def test_stray_control_characters_are_removed() -> None:
    assert text_of(
        b"An ordinary line, long enough, then a bell\x07 and it goes on.\r\nNext\x0cpage\r" * 3, "a.txt"
    ) == ("\n".join(["An ordinary line, long enough, then a bell and it goes on.", "Next", "page"] * 3))


def _sentences(texts: list[str]) -> st.SearchStrategy[str]:
    return st.lists(st.sampled_from(texts), min_size=2, max_size=6).map("\n".join)


@given(_sentences(JAPANESE), st.sampled_from(["cp932", "euc_jp", "utf-16-le", "utf-16-be", "iso2022_jp"]))
def test_japanese_round_trip(text: str, encoding: str) -> None:
    assert decode(text.encode(encoding)) == text


@given(_sentences(SIMPLIFIED), st.sampled_from(["gb18030", "gbk", "utf-16-le", "utf-16-be"]))
def test_chinese_round_trip(text: str, encoding: str) -> None:
    assert decode(text.encode(encoding)) == text


@given(
    st.text(st.sampled_from("のはをにがでとしたるいますアイスコーヒー日本人年大学会社時間"), min_size=20, max_size=60),
    st.sampled_from(["cp932", "euc_jp"]),
)
def test_random_kana_and_kanji_round_trip(text: str, encoding: str) -> None:
    assert decode(text.encode(encoding)) == text


@given(
    st.text(
        st.sampled_from("的一是不了在人有我他这个们中来上大为和国地到以说时要就出会可也"), min_size=15, max_size=60
    ).filter(
        lambda text: len(set(text)) > 7  # 一一一 in GB is also valid UTF-8
    ),
)
def test_random_common_chinese_round_trip(text: str) -> None:
    assert decode(text.encode("gb18030")) == text
