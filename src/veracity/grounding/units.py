"""Units of measure and words for numbers in English, Chinese and Japanese, as tables.

Knows nothing about sentences: it says which dimension a unit measures, and which value a numeral has.
"""

from decimal import Decimal

# dimension, spellings = how many of the dimension's base unit. Months and years have no fixed length in days.
_UNIT_TABLE = """
mass mg milligram milligrams 毫克 ミリグラム = 0.001
mass g gram grams 克 グラム = 1
mass kg kilogram kilograms kilo kilos 公斤 千克 キロ キログラム = 1000
mass t ton tons tonne tonnes 吨 トン = 1000000
mass lb lbs pound pounds 磅 ポンド = 453.59237
length mm millimetre millimeter millimetres millimeters 毫米 ミリ = 0.001
length cm centimetre centimeter centimetres centimeters 厘米 センチ センチメートル = 0.01
length m metre meter metres meters 米 メートル = 1
length km kilometre kilometer kilometres kilometers 公里 千米 キロメートル = 1000
length ft foot feet 英尺 フィート = 0.3048
length mi mile miles 英里 マイル = 1609.344
time s sec secs second seconds 秒 秒間 秒钟 = 1
time min mins minute minutes 分钟 分間 = 60
time h hr hrs hour hours 小时 時間 = 3600
time day days 天 日 日間 = 86400
time week weeks 周 星期 週間 = 604800
span month months 个月 か月 ヶ月 カ月 ヵ月 箇月 = 1
span year years 年間 年 = 12
share % percent pct パーセント = 1
dollar $ usd dollar dollars 美元 ドル = 1
euro € eur euro euros 欧元 ユーロ = 1
sterling £ gbp = 1
yen jpy yen 円 日元 = 1
yuan cny rmb yuan 元 人民币 = 1
data kb kilobyte kilobytes = 1
data mb megabyte megabytes = 1000
data gb gigabyte gigabytes = 1000000
data tb terabyte terabytes = 1000000000
celsius °c celsius 摄氏度 = 1
fahrenheit °f fahrenheit 华氏度 = 1
age 歳 岁 = 1
people 人 名 people persons = 1
"""


def _read_table() -> dict[str, tuple[str, Decimal]]:
    units = {}
    for line in _UNIT_TABLE.strip().splitlines():
        names, factor = line.split(" = ")
        dimension, *spellings = names.split()
        units.update({spelling: (dimension, Decimal(factor)) for spelling in spellings})
    return units


UNITS = _read_table()
# ¥ is both yen and yuan, so it says nothing.
CURRENCY_SIGNS = "$€£"


def _counted(words: str, first: int) -> dict[str, int]:
    return {word: number for number, word in enumerate(words.split(), first)}


MONTHS = _counted("january february march april may june july august september october november december", 1)
SMALL_NUMBERS = _counted(
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen",
    0,
)
TENS = {word: 10 * n for word, n in _counted("twenty thirty forty fifty sixty seventy eighty ninety", 2).items()}
# "first" and "second" have too many other uses to be numbers.
ORDINALS = _counted("third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth", 3)
SCALES = {"hundred": 10**2, "thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12}
HAN_SCALES = {"十": 10, "百": 10**2, "千": 10**3, "万": 10**4, "萬": 10**4, "亿": 10**8, "億": 10**8, "兆": 10**12}
HAN_DIGITS = {digit: value for value, digit in enumerate("〇一二三四五六七八九")} | {"零": 0, "两": 2, "兩": 2}


def han_value(numeral: str) -> int:
    """三百二十 is 320, 二〇一九 is 2019, 一亿二千万 is 120,000,000."""
    if all(character in HAN_DIGITS for character in numeral):
        return int("".join(str(HAN_DIGITS[character]) for character in numeral))
    total = section = digit = 0
    for character in numeral:
        if character in HAN_DIGITS:
            digit = HAN_DIGITS[character]
        elif HAN_SCALES[character] < 10**4:
            section += (digit or 1) * HAN_SCALES[character]
            digit = 0
        else:
            total += (section + digit or 1) * HAN_SCALES[character]
            section = digit = 0
    return total + section + digit
