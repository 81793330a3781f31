"""Questions that no document answers better: arithmetic, and the assistant itself (SPEC D3).

A router model may propose to answer them directly. Code decides: the question must consist of numbers and operators, or
of words about the assistant, and nothing else. So no text can lead any other question past the documents. The results
are computed here, and what is said about the assistant is a fixed text.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable
from fractions import Fraction

from veracity.language import normalized

MAX_LENGTH = 160  # characters of a question or an expression
MAX_DIGITS = 30
MAX_EXPONENT = 20
SIGNIFICANT_DIGITS = 10

_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_PERCENT = re.compile(r"%|\bpercent\b|\bper cent\b|百分之|パーセント")
_LETTER = re.compile(r"[^\W\d_]")
_ARITHMETIC_WORDS = re.compile(
    r"\b(?:what(?:'s| is| are| does)?|how much(?: is| are)?|calculate|compute|work out|the|sum|product|difference"
    r"|result|of|and|to|by|from|plus|minus|times|multiplied|divided|over|add|subtract|squared|cubed|power"
    r"|percent|per cent|equals?|please|it|is|x)\b"
    r"|请问?|计算|算一?下|等于|多少|几|是|的|和|积|差|商|加上?|减去?|乘以?|除以|再|平方|立方|百分之|结果|呢|吗|一下"
    r"|計算|してください|して|はいくつ(?:ですか|になりますか)?|いくつ(?:ですか|になりますか)?|いくら(?:ですか|になりますか)?|何ですか"
    r"|足す|たす|引く|ひく|掛ける|かける|割る|わる|ひいた|足した|パーセント|の|は|を|に|と|で|か|答え|教えて(?:ください)?|になる|乗"
)
_ASSISTANT_WORDS = re.compile(
    r"\b(?:veracity|you|your|yours|yourself|assistant|bot|chatbot|robot|tool|program|software|app|product|engine|ai"
    r"|what|who|how|why|which|where|is|are|was|were|do|does|did|can|could|will|would|should|the|a|an|this|these|i|me|my"
    r"|we|it|s|re|to|of|for|with|in|from|by|and|or|about|tell|explain|describe|introduce|made|make|makes|built|created"
    r"|name|named|called|call|work|works|use|used|using|help|answer|answers|answered|question|questions|know|trust"
    r"|speak|understand|language|languages|come|get|find|please|exactly|actually|really|kind|purpose)\b"
    r"|你|您|自己|助手|机器人|软件|程序|产品|工具|系统|请|介绍|一下|叫|名字|什么|谁|怎么|怎样|如何|为什么|哪里|哪些|哪"
    r"|是|的|由|开发|制作|做|能|可以|会|功能|工作|使用|用|帮助|帮|我|回答|答案|问题|来自|来源|从|来|语言|说|支持|有|这个|这|吗|呢|啊|和|关于"
    r"|あなた|きみ|アシスタント|ボット|ロボット|ツール|ソフトウェア|ソフト|プログラム|製品|システム|この|これ|名前|何|誰|だれ|どう|どこ|なぜ|どんな"
    r"|もの|者|仕組み|使い方|機能|自己紹介|開発|作った|作られ|作成|できる|でき|使う|使い|使え|答え|回答|質問|言語|対応|説明|紹介|教えて|ください"
    r"|ですか|ます|です|まし|した|して|する|たか|の|は|が|を|に|で|と|か|も|から|って|や|こと|い|る|た|て|ん|し|さ|れ"
)
_ASSISTANT = re.compile(
    r"\bveracity\b|\byou(?:r|rself)?\b|\bthis (?:assistant|bot|tool|app|program)\b|你|您|あなた|このツール"
)

_OPERATORS: dict[type[ast.operator], Callable[[Fraction, Fraction], Fraction]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}
_SYMBOLS = str.maketrans({"×": "*", "·": "*", "÷": "/", "−": "-", "–": "-", "^": "**", "（": "(", "）": ")"})


def calculate(question: str, expression: str) -> str:
    """The expression with its value, if it says what the question asks; otherwise an empty string."""
    asked, written = normalized(question).lower(), normalized(expression).translate(_SYMBOLS).replace(",", "")
    is_arithmetic = len(asked) <= MAX_LENGTH and not _LETTER.search(_ARITHMETIC_WORDS.sub(" ", asked))
    if not is_arithmetic or not _has_same_numbers(asked, written):
        return ""
    try:
        value = _evaluate(ast.parse(written.strip(), mode="eval").body)
    except (SyntaxError, ValueError, ArithmeticError, RecursionError, MemoryError):
        return ""
    return f"{expression.strip()} {_format(value)}"


def is_about_assistant(question: str) -> bool:
    """Whether it asks about the assistant, in general words and nothing else."""
    plain = normalized(question).lower()
    is_short = len(plain) <= MAX_LENGTH and not _NUMBER.search(plain)
    return is_short and bool(_ASSISTANT.search(plain)) and not _LETTER.search(_ASSISTANT_WORDS.sub(" ", plain))


def _has_same_numbers(question: str, expression: str) -> bool:
    """A percentage may be written with the number 100, a square with 2 and a cube with 3."""
    asked = {number.replace(",", "") for number in _NUMBER.findall(question)}
    written = set(_NUMBER.findall(expression))
    allowed = {"100"} if _PERCENT.search(question) else set()
    allowed |= {"2"} if re.search(r"squared|平方", question) else set()
    allowed |= {"3"} if re.search(r"cubed|立方", question) else set()
    return bool(asked) and asked <= written | allowed and written <= asked | allowed and len(expression) <= MAX_LENGTH


def _evaluate(node: ast.expr) -> Fraction:
    """Raises `ValueError` for anything but numbers, the four operations and small powers."""
    match node:
        case ast.Constant(value=int() | float() as number) if not isinstance(number, bool):
            if len(ast.unparse(node)) > MAX_DIGITS:
                raise ValueError
            return Fraction(ast.unparse(node))
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_evaluate(operand)
        case ast.BinOp(left=left, op=ast.Pow(), right=ast.Constant(value=int() as power)) if 0 <= power <= MAX_EXPONENT:
            return _evaluate(left) ** power
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
            return _OPERATORS[type(op)](_evaluate(left), _evaluate(right))
    raise ValueError


def _format(value: Fraction) -> str:
    """Exact if it has few digits, else rounded."""
    rounded = f"{float(value):.{SIGNIFICANT_DIGITS}g}"
    exact = str(value.numerator) if value.denominator == 1 else rounded
    if len(exact) > MAX_DIGITS:
        raise ValueError
    return f"= {exact}" if Fraction(exact) == value else f"≈ {exact}"
