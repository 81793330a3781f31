"""Modules whose import is put off."""

import subprocess
import sys


def run(code: str) -> str:
    """What a new process prints: imports are put off once per process."""
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


def test_a_deferred_name_loads_its_module_on_first_use() -> None:
    code = """
import sys
from veracity.deferred_imports import deferred
with deferred("fractions"):
    from fractions import Fraction
print("fractions" in sys.modules)
half = Fraction(1, 2)
class Own(Fraction): pass
import fractions
print(half + half, isinstance(half, Fraction), issubclass(Own, fractions.Fraction), Fraction.from_float(0.5))
"""
    assert run(code) == "False\n1 True True 1/2"


def test_a_module_that_is_loaded_is_not_replaced() -> None:
    code = """
import fractions
from veracity.deferred_imports import deferred
with deferred("fractions"):
    from fractions import Fraction
print(Fraction is fractions.Fraction)
"""
    assert run(code) == "True"


def test_other_programs_keep_pandas() -> None:
    code = """
from veracity.deferred_imports import without_pandas
with without_pandas():
    import pandas
print(pandas.__name__)
"""
    assert run(code) == "pandas"
