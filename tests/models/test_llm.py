"""What calls consumed is added up (SPEC X3, X7)."""

from veracity.models import Usage


def test_x3_usage_is_added_and_an_unknown_price_stays_unknown() -> None:
    one = Usage(calls=1, input_tokens=10, output_tokens=2, cost_usd=0.5)
    assert one + one == Usage(calls=2, input_tokens=20, output_tokens=4, cost_usd=1.0)
    assert (one + one).tokens == 24
    assert (one + Usage(calls=1, cost_usd=None)).cost_usd is None
    assert (Usage(calls=1, cost_usd=None) + one).cost_usd is None
    assert sum([one, one], Usage()) == one + one
