"""Words that exclude each other: directions, quantifiers, permissions and the like, in English, Chinese and Japanese.

Words of one side stand for the same thing ("rose" finds "increased"); words of the two sides contradict each other.
Knows nothing about sentences: it only names the side a word is on.
"""

import re

from veracity.language import Token, tokens

# An underscore joins a phrase. Chinese and Japanese entries are found as they are written, also inside compounds.
_PAIRS = (
    (
        "increase rise rose risen grow grew grown growth climb surge expand "
        "増加 増え 増や 上昇 増大 拡大 上升 增加 增长 增多 提高 上涨 扩大",
        "decrease reduce reduction fall fell fallen decline drop shrink shrank "
        "減少 減っ 減り 減ら 減る 低下 下落 縮小 下降 减少 降低 下跌 下滑 缩小",
    ),
    (
        "all every each entire always 全部 所有 全体 全员 全員 すべて 全て 一切 总是 常に",
        "some several most_of partly partially sometimes 一部 部分 有些 某些 一些 いくつか 大半 多数 有时 時々",
    ),
    ("higher 更高 より高", "lower 更低 より低"),
    ("above exceed more_than 以上 超过 超え 上回 高于", "below less_than fewer_than 以下 未満 未满 低于 不足 下回"),
    ("before prior_to 之前 以前 前に 饭前 餐前 食前", "after 之后 以后 後に 以降 饭后 餐后 食後"),
    ("earlier", "later"),
    (
        "at_least no_less_than minimum 至少 最少 最低でも 少なくとも",
        "at_most no_more_than up_to maximum 最多 至多 多くとも",
    ),
    ("win won winner victory 勝利 勝っ 获胜 胜利", "lose lost 敗北 敗れ 落败"),
    ("allow permit 允许 许可 許可 認め", "prohibit forbid forbidden ban banned disallow 禁止 禁じ 不得"),
    ("include 包含 包括 含む 含ま", "exclude 除外 排除 除く 除き"),
    ("accept approve approval 承認 批准 同意", "reject deny denied refuse 却下 拒否 否决 拒绝"),
    ("mandatory compulsory obligatory must required 必須 義務 必须 强制", "optional voluntary 任意 可选 自愿"),
    ("import 輸入 进口", "export 輸出 出口"),
    ("north northern", "south southern"),
    ("east eastern", "west western"),
    ("public 公立", "private 私立"),
    ("positive 陽性 阳性", "negative 陰性 阴性"),
    ("enable", "disable"),
    ("start begin began begun commence 開始 始ま 开始", "end conclude 終了 終わ 结束"),
    ("buy bought purchase acquire 購入 购买 买入 收购", "sell sold 売却 販売 出售 卖出"),
    ("success succeed successful 成功", "fail failure 失敗 失败"),
    ("larger bigger", "smaller"),
    ("longer", "shorter"),
    ("better improve improvement 改善 好转", "worse worsen deteriorate 悪化 恶化"),
    ("best", "worst"),
    ("strengthen 強化 加强", "weaken 弱化 削弱"),
    ("support 賛成 赞成 支持", "oppose opposition 反対 反对"),
    ("appoint 任命 就任", "resign 辞任 辞职"),
    ("profit 黒字 盈利", "loss 赤字 亏损"),
    ("free free_of_charge 無料 免费", "paid 有料 收费 付费"),
    ("everybody everyone", "nobody no_one"),
    ("many numerous", "few hardly_any"),
    ("safe 安全", "unsafe dangerous 危険 危险"),
    ("possible 可能", "impossible 不可能 不可"),
    ("必要", "不要"),
    ("open opened 开门 开业", "closed 关门 停业"),
    ("legal lawful 合法", "illegal unlawful 違法 违法 非法"),
    ("able", "unable"),
    ("available", "unavailable"),
    ("valid 有効 有效", "invalid 無効 无效"),
    ("correct accurate", "incorrect inaccurate"),
    ("complete", "incomplete"),
)


def _sides() -> dict[str, str]:
    return {
        entry.replace("_", " "): f"{'+-'[side]}{number}"
        for number, pair in enumerate(_PAIRS)
        for side, entries in enumerate(pair)
        for entry in entries.split()
    }


_SIDE_OF_ENTRY = _sides()
_SIDE_OF_TOKEN = {tokens(e)[0]: side for e, side in _SIDE_OF_ENTRY.items() if e.isascii() and " " not in e}
_LONGEST_FIRST = sorted(_SIDE_OF_ENTRY, key=len, reverse=True)
_PHRASE = re.compile(rf"\b(?:{'|'.join(e for e in _LONGEST_FIRST if e.isascii() and ' ' in e)})\b", re.IGNORECASE)
_CJK_WORD = re.compile("|".join(e for e in _LONGEST_FIRST if not e.isascii()))


def side_of(token: str) -> str | None:
    """The side a single English token is on, such as `+0`."""
    return _SIDE_OF_TOKEN.get(token)


def sides_as_written(plain: str) -> list[Token]:
    """The phrases and the Chinese and Japanese words of the table in a normalized text, as tokens named by side."""
    found = [*_PHRASE.finditer(plain), *(() if plain.isascii() else _CJK_WORD.finditer(plain))]
    return [Token(_SIDE_OF_ENTRY[match[0].lower()], match.start(), match.end()) for match in found]


def is_side(key: str) -> bool:
    return key[0] in "+-"


def other_side(side: str) -> str:
    """The side that contradicts this one."""
    return ("-" if side[0] == "+" else "+") + side[1:]
