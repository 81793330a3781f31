"""Language guess, sentence boundaries and tokens in English, Chinese, Japanese and anything else."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from veracity.language import content_tokens, guess_language, possible_languages, sentences, tokens

# Ordinary characters of three languages, and everything that ends, opens or closes something.
TRICKY_CHARACTERS = "aB1 .!?…。！？「」『』（）()[]【】［］\"'“”\n\r\t\u3000東京はですñ，、,-#:/の"
TRICKY_TEXT = st.text(alphabet=st.sampled_from(TRICKY_CHARACTERS), max_size=60)
ANY_TEXT = st.one_of(st.text(max_size=60), TRICKY_TEXT)


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("", "en"),
        ("2024 – 30%", "en"),
        ("Où est la gare ?", "en"),
        ("The word 東京 means Tokyo", "en"),
        ("今天天气很好", "zh"),
        ("请问 Kubernetes 怎么部署", "zh"),
        ("動畫《進撃の巨人》的第一季共有二十五集，由荒木哲郎執導，自二零一三年四月起播出，深受觀眾喜愛", "zh"),
        ("東京は日本の首都です", "ja"),
        ("東京都知事選挙結果の発表", "ja"),
        ("ｶﾀｶﾅ", "ja"),
        ("Python で書く", "ja"),
    ],
)
def test_language_is_guessed_by_the_share_of_letters(text: str, language: str) -> None:
    assert guess_language(text) == language


@pytest.mark.parametrize(
    ("question", "language"),
    [
        ("GZipMiddleware 的 minimum_size 默认值是多少？", "zh"),
        ("CORSMiddleware の allow_origins のデフォルトは？", "ja"),
        ("GZipMiddleware的minimum_size默认值是多少？", "zh"),
        ("`app.add_middleware(CORSMiddleware, allow origins)` 怎么用？", "zh"),
        ("--max-content-width 有什么用？", "zh"),
        ("starlette.middleware.gzip.GZipMiddleware は何？", "ja"),
        ("https://fastapi.tiangolo.com/tutorial/background-tasks/ 说了什么？", "zh"),
        ("docs/tutorial/request-forms-and-files.md 讲什么？", "zh"),
        ("Django REST Framework 的作者是谁？", "zh"),
        ("Amazon Web Services の料金は？", "ja"),
        ("HTTP_PROXY_SERVER_ADDRESS 默认？", "zh"),
        ("What is the default of minimum_size in 中间件?", "en"),
        ("Who is 张伟?", "en"),
        ("Is 微信支付 allowed?", "en"),
        ("What does 東京タワー cost?", "en"),
        ("Can I 申请年假吗", "zh"),
        ("WhatsApp 可以用吗", "zh"),
        ("the 是什么意思", "zh"),
    ],
)
def test_x5_language_of_a_question_is_that_of_its_words_and_not_of_its_identifiers(
    question: str, language: str
) -> None:
    assert guess_language(question) == language


def test_x5_long_english_text_with_a_chinese_name_is_english() -> None:
    text = "Set `minimum_size` in GZipMiddleware, as 李明 explained: responses below that size are not compressed."
    assert guess_language(text) == "en"


@pytest.mark.parametrize(
    ("question", "languages"),
    [
        ("How many days?", {"en"}),
        ("有給休暇は何日", {"ja"}),
        ("保修期是多久？", {"zh", "ja"}),
        ("有多少天年休假？", {"zh", "ja"}),
        ("GZipMiddleware 的默认值", {"zh"}),
        ("東京都知事選挙", {"zh", "ja"}),
    ],
)
def test_kanji_alone_may_be_either_language(question: str, languages: set[str]) -> None:
    assert possible_languages(question) == languages


@pytest.mark.parametrize("piece", ["a_", "`", "aB", "--a", "a.", "Is ", "http://", "的"])
def test_guessing_takes_linear_time(piece: str) -> None:
    started = time.process_time()
    guess_language("字" + piece * 200_000)
    assert time.process_time() - started < 5


@pytest.mark.parametrize(
    "parts",
    [
        ["Dr. Smith paid $3.5 million.", "He left."],
        ["The U.S. Army came.", "That was in the U.S.", "The end."],
        ["See No. 5, e.g. this one.", "J. R. R. Tolkien wrote it."],
        ["It opened on Jan. 5 at 9 a.m. daily.", "It closed in Jan.", "Nobody came."],
        ["Yahoo! is old.", "He joined Yahoo! Inc. early.", "That was Yahoo!", "The end."],
        [
            "Open 9 a.m. – 5 p.m. daily.",
            "Its name (lit. 'hill') is D.A.D.A. in short.",
            "The room was lit.",
            "We left.",
        ],
        ["He said no.", "Then he left."],
        ['"Why?" he asked.', '"Go."', "They went."],
        ["Well... maybe.", "Wait...", "No!"],
        ["Read https://example.org/a.html?x=1.", "Then stop."],
        ["It grew.[1][2]", "It fell. [3]", "It ended [4]."],
        ["Acme Inc. makes widgets.", "Gadgets Ltd. Japan sells them."],
        ["第一句。[1]", "第二句！【2】", "第三句？［3］", "完"],
        ["他说：“好。”", "然后他走了……再也没有回来。"],
        ["「本当ですか。」と言った。", "彼は来た（遅れて。）", "終わり"],
        ["価格は3.5倍です．", "次に進む．"],
        ["これはAPIです。", "It works!", "对不对?", "对"],
    ],
)
def test_sentence_ends(parts: list[str]) -> None:
    joiner = "" if guess_language(parts[0]) != "en" else " "
    assert [sentence.text for sentence in sentences(joiner.join(parts))] == parts


def test_lines_bullets_and_headings_end_sentences() -> None:
    text = "# Title\n- one item\n1. First item. Second one.\r\n(2. nothing)\u2028end"
    found = [sentence.text for sentence in sentences(text)]
    assert found == ["# Title", "- one item", "1. First item.", "Second one.", "(2. nothing)", "end"]


@given(ANY_TEXT)
def test_sentences_are_exact_ordered_and_complete(text: str) -> None:
    at = 0
    for sentence in sentences(text):
        assert sentence.text == text[sentence.start : sentence.end] != ""
        assert not text[at : sentence.start].strip()
        at = sentence.end
    assert not text[at:].strip()


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("1,000", "１０００"),
        ("increased", "increasing"),
        ("Café’s", "cafe"),
        ("ｶﾀｶﾅ", "カタカナ"),
        ("naïve", "naive"),
        ("５ＧＢ", "5gb"),
    ],
)
def test_spellings_of_one_word_are_one_token(one: str, other: str) -> None:
    assert tokens(one) == tokens(other)


def test_numbers_are_kept_whole() -> None:
    assert tokens("1,234.5 and v3.5.2 and 1,2") == ["1234.5", "and", "v", "3.5.2", "and", "1", "2"]


def test_chinese_is_cut_into_words_and_japanese_into_pairs() -> None:
    assert tokens("北京大学的学生") == ["北京大学", "的", "学生"]
    assert tokens("東京タワーへ") == ["東京", "タワ", "ワー"]
    assert tokens("東京都庁", "ja") == ["東京", "京都", "都庁"]


@pytest.mark.parametrize(
    ("text", "content"),
    [
        ("The cat is not on the mats", ["cat", "mat"]),
        ("他们的公司在北京", ["公司", "北京"]),
        ("会社は東京にあります", ["会社", "東京"]),
    ],
)
def test_content_tokens_exclude_common_words(text: str, content: list[str]) -> None:
    assert content_tokens(text) == content


@given(ANY_TEXT)
def test_any_text_has_tokens(text: str) -> None:
    assert all(token and not token.isspace() for token in tokens(text))
    assert guess_language(text) in ("en", "zh", "ja")


@pytest.mark.parametrize("unit", ["a", ". ", ".", "[", ".[1", "1,000,", "A. ", "。", "中", "あ", "\n", ". \t"])
def test_time_is_linear(unit: str) -> None:
    """Fifty thousand characters: quadratic work would exceed the bound."""
    text = unit * (50_000 // len(unit))
    started = time.process_time()
    sentences(text)
    tokens(text)
    assert time.process_time() - started < 20
