"""Numbers, dates and measures, compared by value."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from veracity.grounding.quantities import agrees, differs, han_value, quantities
from veracity.language import normalized


def agree(stated: str, known: str) -> bool:
    found = quantities(normalized(known))
    claimed = quantities(normalized(stated))
    assert claimed, f"no quantity in {stated!r}"
    return all(agrees(quantity, found) for quantity in claimed)


@pytest.mark.parametrize(
    ("stated", "known"),
    [
        ("3.2 million", "3,200,000"),
        ("three", "3"),
        ("twenty-five days", "25 days"),
        ("two hundred", "200"),
        ("a thousand", "1000"),
        ("$5 million", "5,000,000 dollars"),
        ("30 percent", "30%"),
        ("24 hours", "1 day"),
        ("5 kg", "5,000 g"),
        ("March 3", "2024-03-03"),
        ("3 March 2024", "March 3, 2024"),
        ("March 3rd, 2024", "2024年3月3日"),
        ("in August", "2016-08-24"),
        ("the 1990s", "since 1990"),
        ("2018–19", "2018 to 2019"),
        ("at 31", "the 31-year-old"),
        ("the third album", "3rd album"),
        ("三天", "3天"),
        ("两个月", "2个月"),
        ("百分之三十", "30%"),
        ("320万人", "3,200,000人"),
        ("第三次", "第3次"),
        ("二〇一九年", "2019年"),
        ("３０日", "30日"),
        ("208億3600万円", "20,836,000,000円"),
        ("5キロ", "5kg"),
        ("三つ", "3つ"),
    ],
)
def test_one_quantity_in_two_spellings(stated: str, known: str) -> None:
    assert agree(stated, known)
    assert agree(known, stated) or len(quantities(normalized(known))) > len(quantities(normalized(stated)))


@pytest.mark.parametrize(
    ("stated", "known"),
    [
        ("30 days", "90 days"),
        ("30 days", "90 days for 30 people"),
        ("30 stores", "90 stores and 30 cars"),
        ("5 kg", "5 g"),
        ("5 years", "5 months"),
        ("$5", "€5"),
        ("in 2019", "in 2018"),
        ("March 3", "May 3"),
        ("3.2 million", "3.2 billion"),
        ("30日", "90日"),
        ("三年", "五年"),
        ("5公斤", "5克"),
    ],
)
def test_different_quantities(stated: str, known: str) -> None:
    assert not agree(stated, known)


@pytest.mark.parametrize("text", ["one of them", "we may march", "十分重要", "一个人们", "first of all", "no numbers"])
def test_words_that_only_look_like_numbers(text: str) -> None:
    assert quantities(text) == ()


def test_another_number_of_the_same_thing_differs() -> None:
    (stated,) = quantities("30 days")
    assert differs(stated, quantities("90 days"))
    assert not differs(stated, quantities("90 people"))


@pytest.mark.parametrize(
    ("numeral", "value"),
    [
        ("三", 3),
        ("十", 10),
        ("十二", 12),
        ("三百二十", 320),
        ("二〇一九", 2019),
        ("一亿二千万", 120_000_000),
        ("万", 10_000),
    ],
)
def test_han_numerals(numeral: str, value: int) -> None:
    assert han_value(numeral) == value


@given(
    st.text(alphabet=st.sampled_from("019.,-/年月日百分之十万億 %$kgmarchone二第個"), max_size=40)
    | st.text(max_size=40)
)
def test_any_text_can_be_read(text: str) -> None:
    plain = normalized(text)
    for quantity in quantities(plain):
        assert quantity.surface == plain[quantity.start : quantity.end]
        assert agrees(quantity, [quantity])
