"""Common words: those too frequent in a language to tell one text from another. Tables, nothing else."""


def _word_set(words: str) -> frozenset[str]:
    return frozenset(words.split())


ENGLISH = _word_set("""
    a about above after again against all also although am an and any are as at be because been before being below
    between both but by can could did do does doing done down during each either else even ever every few for from
    further had has have having he hence her here hers herself him himself his how however i if in into is it its
    itself just may me might more most much must my myself neither no nor not of off often on once one only or other
    our ours out over own per quite rather same shall she should since so some still such than that the their theirs
    them themselves then there therefore these they this those though through thus to too under until up upon us
    very was we well were what when where whether which while who whom whose why will with within without would yes
    yet you your yours cannot can't don't doesn't didn't isn't aren't wasn't weren't won't it's i'm he's she's
    that's s t
""")

# Those of them that say nothing in a search. Words such as "first", "before" or "other" do help to find: measured.
ENGLISH_FUNCTION_WORDS = _word_set("""
    a about an and are as at be been but by can could did do does for from had has have he her his how i if in into is
    it its may me might my no not of on or our she should so such than that the their then there these they this those
    to was we were what when where which who whom whose why will with would you your
""")

CHINESE = _word_set("""
    的 地 得 了 着 过 是 在 和 与 及 以及 或 或者 而 而且 并 并且 但 但是 也 都 就 又 还 还是 很 更 最 太 这 那 这个
    那个 这些 那些 这里 那里 此 该 其 其中 之 之一 于 以 为 被 把 将 对 对于 从 由 到 至 向 往 给 让 使 因 因为 所以
    如果 虽然 则 且 等 等等 有 我 你 您 他 她 它 我们 你们 他们 她们 它们 自己 个 一个 一种 一些 种 些 吗 呢 吧 啊
    呀 嘛 上 中 里 内 后 前 时 会 能 可以 可 要 应 应该 已 已经 曾 正在 来 去 说 什么 怎么 如何 哪 哪些 谁 多少 几
    关于 根据 进行 作为 成为 可能 没有 没 不 无 未 非
""")

# The hiragana pairs that about one in forty paragraphs of Japanese prose holds: particles, endings, auxiliaries.
JAPANESE_PAIRS = _word_set("""
    てい して する ある され であ いる した った こと から って では れる とし には れた れて によ など その られ
    るこ いた なっ とな この また ない いて とい ため ると いう より よう があ あり なる これ もの にな とが あっ
    にお よっ よる ては たが われ とも まで どの それ うに もあ るが てお おり とは でき でも なく たこ おい との
    らの につ ける での とす しか つい への たと とに かし はな ばれ にも なり のよ ので めて るた かっ とを にあ
    させ れら るよ ての のた きる けて ても とで なか れに るの める うな のは めに らに いっ とさ るも まれ える
    たも めら しな さら めた とと れは がで おけ たの きな ただ らな どが えて きた かけ くな のも らは いな れば
    なお どを かれ けた えた およ んで えば なら のみ うし だっ のと うこ えら よび れを だけ しい らず だし てき
    がな いと るな くの のこ とか こう いが たり たた はこ まり つの まっ せる のの のが をも れな ほか けで にか
    もに はそ せた んだ じて にし けら しく なが どに たは わっ いこ たる めの うと どで いく いら がら でい いで
    るか もと のに かつ いは をし のほ せて そし いわ なも もな すこ りに とき にと なさ げら りの かに かの ほど
    のあ わる るい らが でな れが だが あた いの いに とっ どと たな がそ まま わり まる りも かな わせ るに つで
    らか がい です ます まし しま せん ませ りま でし いま すが れま きま まず まへ すか ょう しょ そう うで はい いえ
""")

# Abbreviations, by what may follow their stop.
BEFORE_A_NAME = _word_set("dr mr mrs ms mx prof st mt gen col lt sgt capt rev hon gov sen rep pres messrs")
NEVER_LAST = BEFORE_A_NAME | _word_set("e.g i.e cf viz vs ca approx incl excl esp")
BEFORE_A_NUMBER = _word_set(
    "no nos nr fig figs eq eqs vol vols p pp ch sec art par para ed ver v tab app "
    "jan feb mar apr jun jul aug sep sept oct nov dec"
)
MAYBE_LAST = _word_set("inc ltd co corp jr sr etc al dept est bros ave blvd rd univ assn ph.d m.d b.a m.a")
