"""Spelling correction: slips are corrected, words that the documents lack are not (SPEC C4)."""

import pytest

from tests.agents.vocabulary import FakeVocabulary
from veracity.agents.spelling import correct_spelling
from veracity.language import guess_language
from veracity.models import Evidence, EvidenceMetadata

WARRANTY = "The warranty of every instrument lasts 36 months. The length of the warranty can be extended."
CHILDREN = "Parents of a sick child have five paid days a year. The child must be under twelve."
LEAVE = "员工每年享有带薪年休假12天。年休假须提前申请，由人事系统审批。会议室预订。固件发布。"
REMOTE = "在宅勤務の手当を支給する。在宅勤務は月に8日まで。出張の宿泊費は会社が負担する。"
VOCABULARY = FakeVocabulary(
    WARRANTY, CHILDREN, LEAVE, REMOTE, near={"kid": "child"}, ordinary=["kid", "chill", "want", "sync"]
)


def make_passage(text: str) -> Evidence:
    return Evidence(
        id=text[:5],
        text=text,
        source="knowledge",
        document_id="document",
        title="",
        location="",
        headings=[],
        page=None,
        start=0,
        end=len(text),
        language=guess_language(text),
        metadata=EvidenceMetadata(relevance_score=0.3),
    )


@pytest.mark.parametrize(
    ("typed", "corrected"),
    [
        ("warrenty lenght", "warranty length"),
        ("instrumnet Warrantty", "instrument warranty"),
        ("extnded for a yaer", "extended for a year"),
        ("the lenngth of paidd parrents", "the length of paid parents"),
        ("年修假申请", "年休假申请"),
        ("会议室予订", "会议室预订"),
        ("固件发部", "固件发布"),
        ("在択勤務の手当", "在宅勤務の手当"),
        ("出張の宿拍費", "出張の宿泊費"),
    ],
)
def test_slips_are_corrected(typed: str, corrected: str) -> None:
    assert correct_spelling(typed, [], VOCABULARY).text == corrected


@pytest.mark.parametrize(
    "question",
    [
        "What does the warranty cover?",
        "can I chill",  # a good word, one edit from `child`
        "Tesla warranty",  # a name that the documents do not contain
        "syncing days",  # a form of an ordinary word
        "what does LH-C210 cost",
        "set maxLenght",  # an identifier
        "年休假申请",
        "在宅勤務は何日",
        "Überraschung?",
        "",
    ],
)
def test_correct_words_are_unchanged(question: str) -> None:
    assert correct_spelling(question, [make_passage(WARRANTY), make_passage(CHILDREN)], VOCABULARY).text == question


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("when was dolly parton born", "A pardon was granted to the dolly maker."),
        ("who wrote cant get you out of my head", "The cast was large. The head wrote it."),
        ("jay z magna carta holy grail", "A cart of grain."),
        ("how much is paternity leave", "Maternity leave lasts 26 weeks."),
        ("readership of the magazine", "The leadership of the company."),
        ("在哪里申请", "他在斯里兰卡申请。"),
        ("上海公司的年假", "上海市的办公室在静安区。公司的年假制度。"),
        ("上海和北京的人口", "上海市北京路。人口。"),
        ("四川的人口是多少", "四川省人口最多。"),
        ("会议室订了以后没人去", "会议室每人都可以用。"),
        ("公式在哪里", "公事在这里。"),  # another word with the same sound
        ("ラオスの立法府は何院制", "ラオスは下院制。"),
        ("現在の技術", "現象の技術。"),
        ("土木技師の人数", "土木技士の人数。"),
        ("発表された年", "発見された年。"),
    ],
)
def test_words_that_the_documents_lack_are_no_typos(question: str, text: str) -> None:
    vocabulary = FakeVocabulary(text, ordinary=["dolly", "leadership"])
    assert correct_spelling(question, [make_passage(text)], vocabulary).text == question


def test_result_is_a_word_of_the_documents_and_not_another_form_of_it() -> None:
    vocabulary = FakeVocabulary("An article about articles.", ordinary=["article"])
    assert correct_spelling("manners of articulation", [], vocabulary).changes == ()


def test_synonym_is_taken_from_the_best_passages() -> None:
    correction = correct_spelling("my kid is sick", [make_passage(CHILDREN)], VOCABULARY)
    assert (correction.text, correction.near) == ("my kid is sick", ("child",))
    assert correct_spelling("my kid is sick", [make_passage(WARRANTY)], VOCABULARY).text == "my kid is sick"
    assert correct_spelling("Kid", [make_passage(CHILDREN)], VOCABULARY).text == "Kid", "a name"
