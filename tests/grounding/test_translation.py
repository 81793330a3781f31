"""Does a text in another language support a sentence? By meaning; numbers, names and negations are compared by form."""

import subprocess
import sys
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from veracity.deadlines import Deadline, under
from veracity.errors import OutOfTimeError
from veracity.grounding import SUPPORT_THRESHOLD, EvidenceTexts, support
from veracity.grounding.claims import find_negation
from veracity.grounding.transliteration import are_alike

EN = (
    "The warranty period is 36 months. Refunds are paid within 30 days. Staff may not smoke in the warehouse. "
    "The database is PostgreSQL."
)
ZH = "保修期为三十六个月。退款在30天内支付。员工不得在仓库内吸烟。数据库使用 PostgreSQL。"
JA = (
    "保証期間は36か月です。返金は30日以内に支払われます。社員は倉庫で喫煙してはいけません。"
    "データベースは PostgreSQL です。"
)


@pytest.mark.parametrize(
    ("sentence", "text", "quote"),
    [
        ("保修期为三十六个月。", EN, "The warranty period is 36 months."),
        ("保証期間は３６か月です。", EN, "The warranty period is 36 months."),
        ("The warranty period is 36 months.", ZH, "保修期为三十六个月。"),
        ("The warranty period is 36 months.", JA, "保証期間は36か月です。"),
        ("返金は30日以内に支払われます。", ZH, "退款在30天内支付。"),
        ("退款将在30天内支付给顾客。", JA, "返金は30日以内に支払われます。"),
        ("数据库使用 PostgreSQL。", EN, "The database is PostgreSQL."),
    ],
)
def test_a_translation_is_supported(sentence: str, text: str, quote: str) -> None:
    found = support(sentence, text)
    assert found.supported
    assert found.quote == quote == text[found.start : found.end]
    assert found.missing == found.contradicted == ()


@pytest.mark.parametrize(
    ("sentence", "text", "part"),
    [
        ("保修期为二十四个月。", EN, "二十四个月"),
        ("保証期間は24か月です。", EN, "24か月"),
        ("The warranty period is 24 months.", ZH, "24 months"),
        ("The warranty period is 24 months.", JA, "24 months"),
        ("退款在90天内支付。", "Refunds are paid within 30 days. The warranty lasts 90 days.", "90天"),
        ("共有3万人参加了活动。", "About 20,000 people took part in the event.", "3万人"),
        ("会议于2024年3月6日举行。", "The meeting was held on March 5, 2024.", "6日"),
        ("手续费是百分之三十。", "The handling fee is 20 %.", "百分之三十"),
        ("手续费是1%。", "The handling fee is 20 %.", "1%"),
        ("退款在1天内支付给顾客。", "Refunds are paid to customers within 30 days.", "1天"),
        ("会议在周一举行。", "The meeting takes place on Friday.", "周一"),
    ],
)
def test_another_number_is_not_supported(sentence: str, text: str, part: str) -> None:
    found = support(sentence, text)
    assert not found.supported
    assert part in (*found.missing, *found.contradicted)


@pytest.mark.parametrize(
    ("sentence", "text"),
    [
        ("共有2万人参加了活动。", "About 20,000 people took part in the event."),
        ("会议于 2024 年 3 月 5 日举行。", "The meeting was held on March 5, 2024."),
        ("手续费是百分之三十。", "The handling fee is 30 %."),
        ("手数料は３０％です。", "The fee is 30 percent."),
        ("会议于三月五日举行。", "The meeting is held on March 5."),
        ("The contract is renewed once a year.", "合同每年续签一次。"),
    ],
)
def test_the_same_number_in_another_notation_is_supported(sentence: str, text: str) -> None:
    assert support(sentence, text).supported


@pytest.mark.parametrize(
    ("sentence", "text"),
    [
        ("园丁在春天修剪玫瑰。", EN),
        ("庭師は春にバラを剪定します。", EN),
        ("Gardeners prune roses in spring.", ZH),
        ("Gardeners prune roses in spring.", JA),
        ("庭師は春にバラを剪定します。", ZH),
    ],
)
def test_another_subject_is_far_from_supported(sentence: str, text: str) -> None:
    assert support(sentence, text).score < SUPPORT_THRESHOLD / 2


@pytest.mark.parametrize(
    ("sentence", "text", "name"),
    [
        ("数据库使用 MySQL。", EN, "MySQL"),
        ("データベースは MySQL です。", EN, "MySQL"),
        ("The database is MySQL.", ZH, "MySQL"),
        ("ロンドンの社員は24日の休暇を取得できます。", "Our staff in Dublin get 24 days of leave.", "ロンドン"),
        ("Our staff in London get 24 days of leave.", "ダブリンの社員は24日の休暇を取得できます。", "London"),
    ],
)
def test_a_missing_name_is_not_supported(sentence: str, text: str, name: str) -> None:
    found = support(sentence, text)
    assert not found.supported
    assert name in found.missing


@pytest.mark.parametrize(
    ("sentence", "text"),
    [
        ("ダブリンの社員は24日の休暇を取得できます。", "Our staff in Dublin get 24 days of leave."),
        ("Our staff in Dublin get 24 days of leave.", "ダブリンの社員は24日の休暇を取得できます。"),
        ("Ｋｕｂｅｒｎｅｔｅｓ 集群每晚备份。", "The kubernetes cluster is backed up every night."),
        ("Our staff in Dublin get 24 days of leave.", "都柏林的员工享有24天休假。"),
    ],
)
def test_a_transliterated_name_is_no_obstacle(sentence: str, text: str) -> None:
    assert support(sentence, text).missing == ()


@pytest.mark.parametrize(
    ("katakana", "latin", "alike"),
    [
        ("ダブリン", "Dublin", True),
        ("ニューヨーク", "NewYork", True),
        ("シカゴ", "Chicago", True),
        ("ドイツ", "Germany", True),
        ("ダブリンオフィス", "Dublin", True),
        ("ダブリン", "London", False),
        ("スミス", "Jones", False),
        ("リスボン", "Boston", False),
    ],
)
def test_katakana_is_compared_by_its_consonants(katakana: str, latin: str, alike: bool) -> None:
    assert are_alike(katakana, latin) == alike


@pytest.mark.parametrize(
    ("sentence", "text"),
    [
        ("员工可以在仓库内吸烟。", "Staff may not smoke in the warehouse."),
        ("员工不得在仓库内吸烟。", "Staff may smoke in the warehouse."),
        ("Staff may smoke in the warehouse.", "社員は倉庫で喫煙できません。"),
        ("社員は倉庫で喫煙できません。", "Staff may smoke in the warehouse."),
    ],
)
def test_a_reversed_statement_is_not_supported(sentence: str, text: str) -> None:
    assert not support(sentence, text).supported


@pytest.mark.parametrize(
    ("text", "negation"),
    [
        ("那不勒斯被水淹没。", ""),
        ("员工不得吸烟。", "不得"),
        ("Smoking is not just bad.", ""),
        ("Smoking is prohibited.", "prohibit"),
        ("確認しなければなりません。", ""),
        ("確認できません。", "ません"),
    ],
)
def test_negations_are_found_by_whole_words(text: str, negation: str) -> None:
    assert find_negation(text) == negation


def test_neighbouring_sentences_support_together() -> None:
    text = "The office is closed on public holidays. Invoices are sent by e-mail. Payment is due within 14 days."
    found = support("发票通过电子邮件发送，付款期限为14天。", text)
    assert found.supported
    assert found.quote == "Invoices are sent by e-mail. Payment is due within 14 days."


def test_the_best_of_texts_in_several_languages_is_found() -> None:
    texts = EvidenceTexts(["园丁在春天修剪玫瑰。", "Gardeners prune roses.", EN])
    assert texts.support("保修期为三十六个月。").source == 2
    assert not texts.support("保修期为三十六个月。", [0, 1]).supported


def test_the_place_in_a_long_text_is_found() -> None:
    filler = " ".join(f"Chapter {number} tells of gardens and birds." for number in range(60))
    text = f"{filler} The warranty period is 36 months. {filler}"
    found = support("保修期为三十六个月。", text)
    assert found.supported and found.quote == "The warranty period is 36 months."


def test_names_and_code_in_another_script_do_not_change_the_language() -> None:
    text = "使用 `kubectl get pods` 查看 Kubernetes 集群的 Pod。"
    assert support("Kubernetes 集群的 Pod 用 `kubectl get pods` 查看。", text).supported


@pytest.mark.parametrize("text", ["", " \n", "...", "🌱"])
def test_no_text_supports_nothing(text: str) -> None:
    assert support("保修期为三十六个月。", text).score == 0.0


def test_the_model_is_not_loaded_for_one_language() -> None:
    code = (
        "import sys; from veracity.grounding import support\n"
        "support('The fee is 40 euros.', 'Gardeners prune roses.'); support('费用为40元。', '园丁修剪玫瑰。')\n"
        "support('東京大学', '北京大学'); print('onnxruntime' in sys.modules)"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "False"


def test_the_time_limit_holds() -> None:
    text = " ".join(f"Gardeners prune rose number {number} in spring." for number in range(150))
    with under(Deadline.within(0)), pytest.raises(OutOfTimeError):
        EvidenceTexts([text]).support("园丁在春天修剪玫瑰。")


@given(
    st.text(alphabet="aB 12年月日時カナ・ー不ない。.\n[]", max_size=60),
    st.text(alphabet="xY 34アン人万。. ", max_size=60),
)
def test_the_result_is_consistent(sentence: str, text: str) -> None:
    found = support(sentence, text)
    assert 0.0 <= found.score <= 1.0
    assert found.supported == (found.score >= SUPPORT_THRESHOLD)
    assert found.quote == text[found.start : found.end]


@pytest.mark.parametrize("unit", ["ア", "アン ", "中", "1 年", "Ab ", "不", "Dublin. "])
def test_repetitive_texts_take_little_time(unit: str) -> None:
    started = time.process_time()
    evidence = EvidenceTexts([unit * (6_000 // len(unit))])
    evidence.support("Staff in Dublin and London get 24 days of leave in 2024.")
    evidence.support("ダブリンとロンドンの社員は2024年に24日の休暇を取得できます。")
    assert time.process_time() - started < 60
