"""What whoever reads an answer should know, in the language of the question. Texts, nothing else.

None may quote a document, a draft or a reviewer, but in a `problem`: notices stay when a document is forgotten, without
what stands behind the colon (ledger/quoting.py).
"""

from __future__ import annotations

from typing import Any

from veracity.models import ApprovalReason, Notice, NoticeCode, Shortfall

Texts = dict[NoticeCode, str]


def notice(language: str, code: NoticeCode, **known: Any) -> Notice:
    return Notice(code=code, text=TEXTS[language][code].format(**known))


def waiting(language: str, approval_id: str, why: ApprovalReason) -> Notice:
    return notice(language, "waiting", approval_id=approval_id, why=WAITING[language][why])


def shortfalls(language: str, codes: list[Shortfall]) -> str:
    """What the evidence lacks."""
    return SEPARATORS[language].join(SHORTFALLS[language][code] for code in codes)


def abstention(language: str, missing: list[str], *, was_searched: bool) -> str:
    """The answer that is none."""
    words = ABSTENTIONS[language]
    if not was_searched:
        return words["not_searched"]
    named = words["and"].join(one.rstrip(".。 ") for one in missing)
    return words["silent"] + (words["missing"].format(missing=named) if named else "")


ENGLISH: Texts = {
    "extractive": "Extractive: the sentences are quoted from their sources; no language model wrote them.",
    "from_web": "From the web, not from your documents.",
    "snippets": "{count} of {total} sources are snippets of the search engine: their pages could not be opened.",
    "recalled": "From earlier answers of yours, not from the documents.",
    "revised": "The answer was revised on the reviewer's suggestions (revisions: {times}).",
    "review_failed": "The answer did not pass its review (revisions: {times}): it may be imperfect.",
    "evidence_weak": "The evidence is weak ({score:.2f} of 1): {issues}.",
    "not_reviewed": "The answer was not reviewed: {problem}",
    "doubtful_review": "The reviewer had doubts, but was not sure of them ({confidence:.0%}): see the review.",
    "unsupported": "Statements that what they cite does not support: {count} of {total}.",
    "deadline": "The time for this run was up: this is the best it had.",
    "budget": "{problem} This is the best the run had.",
    "redraft_failed": "The draft could not be revised: {problem}",
    "rewrite_failed": "The query could not be rewritten: {problem}",
    "search_incomplete": "The search was not done in time: there may be better evidence.",
    "not_reranked": "The passages were not reranked: {problem}",
    "waiting": "This answer waits for a person: {why}. Its approval is {approval_id}.",
    "approved": "A person approved this answer ({by}).",
    "edited": "A person edited and approved this answer ({by}).",
    "rejected": "A person rejected this answer ({by}), and no better one was found.",
    "low_score": "The answer scored {score:.2f}, below {threshold:.2f}, and nobody was asked.",
    "not_scored": "The answer was not scored: {problem}",
    "evaluator_warning": "{problem}",
    "web_not_configured": "The web was not searched: web search is not configured.",
    "web_failed": "The web was searched in vain: {problem}",
    "web_empty": "The web was searched and did not hold an answer either.",
    "web_not_written": "The web was searched, but no answer could be written: {problem}",
    "progress_lost": "The progress of this run was lost: nothing more could be tried.",
    "not_routed": "The question was understood without the model: {problem}",
    "not_summarized": "The conversation was summed up without the model: {problem}",
}

CHINESE: Texts = {
    "extractive": "摘录式回答：句子引自来源原文，并非由语言模型撰写。",
    "from_web": "来自网络，并非来自您的文档。",
    "snippets": "{total} 个来源中有 {count} 个是搜索引擎的摘要：未能打开其网页。",
    "recalled": "引自之前给您的回答，并非直接引自文档。",
    "revised": "回答已根据复核建议修改 {times} 次。",
    "review_failed": "回答修改了 {times} 次仍未通过复核，可能不完善。",
    "evidence_weak": "证据较弱（{score:.2f}）：{issues}。",
    "not_reviewed": "回答未经复核：{problem}",
    "doubtful_review": "复核者有疑虑，但把握不大（{confidence:.0%}）：参见复核意见。",
    "unsupported": "{total} 条陈述中有 {count} 条得不到所引内容的支持。",
    "deadline": "本次运行的时间已用完，这是目前最好的结果。",
    "budget": "{problem} 这是目前最好的结果。",
    "redraft_failed": "草稿未能修改：{problem}",
    "rewrite_failed": "查询未能改写：{problem}",
    "search_incomplete": "检索未能按时完成，可能还有更好的证据。",
    "not_reranked": "段落未能重新排序：{problem}",
    "waiting": "本回答正在等待人工审批：{why}。审批编号：{approval_id}。",
    "approved": "本回答已由人工批准（{by}）。",
    "edited": "本回答已由人工修改并批准（{by}）。",
    "rejected": "本回答已被人工拒绝（{by}），且未找到更好的回答。",
    "low_score": "回答得分 {score:.2f}，低于 {threshold:.2f}，且未询问任何人。",
    "not_scored": "回答未能评分：{problem}",
    "evaluator_warning": "{problem}",
    "web_not_configured": "未搜索网络：尚未配置网络搜索。",
    "web_failed": "网络搜索没有结果：{problem}",
    "web_empty": "已搜索网络，其中也没有答案。",
    "web_not_written": "已搜索网络，但未能写出回答：{problem}",
    "progress_lost": "本次运行的进度已丢失：无法再作尝试。",
    "not_routed": "问题未经模型理解：{problem}",
    "not_summarized": "对话未经模型摘要：{problem}",
}

JAPANESE: Texts = {
    "extractive": "抜粋による回答：文は出典からの引用で、言語モデルが書いたものではありません。",
    "from_web": "文書ではなく、ウェブからの回答です。",
    "snippets": "{total} 件の出典のうち {count} 件は検索エンジンの抜粋です（ページを開けませんでした）。",
    "recalled": "文書からではなく、以前の回答からの引用です。",
    "revised": "回答はレビューの提案に基づき {times} 回修正されました。",
    "review_failed": "回答は {times} 回修正されましたがレビューを通過しておらず、不完全な可能性があります。",
    "evidence_weak": "根拠が弱い（{score:.2f}）：{issues}。",
    "not_reviewed": "回答はレビューされていません：{problem}",
    "doubtful_review": "レビュアーに疑問がありますが、確信は弱いです（{confidence:.0%}）。レビューを参照してください。",
    "unsupported": "{total} 件の記述のうち {count} 件は、引用した内容に裏付けられていません。",
    "deadline": "この実行の制限時間に達したため、その時点で最良の結果です。",
    "budget": "{problem} その時点で最良の結果です。",
    "redraft_failed": "下書きを修正できませんでした：{problem}",
    "rewrite_failed": "検索語を書き換えられませんでした：{problem}",
    "search_incomplete": "検索が時間内に終わらなかったため、より良い根拠があるかもしれません。",
    "not_reranked": "段落を並べ替えられませんでした：{problem}",
    "waiting": "この回答は人の承認を待っています：{why}。承認番号：{approval_id}。",
    "approved": "この回答は人によって承認されました（{by}）。",
    "edited": "この回答は人によって修正のうえ承認されました（{by}）。",
    "rejected": "この回答は人によって却下され（{by}）、より良い回答は見つかりませんでした。",
    "low_score": "回答の評価は {score:.2f} で {threshold:.2f} を下回りましたが、誰にも確認していません。",
    "not_scored": "回答を評価できませんでした：{problem}",
    "evaluator_warning": "{problem}",
    "web_not_configured": "ウェブは検索していません：ウェブ検索が設定されていません。",
    "web_failed": "ウェブ検索は成果がありませんでした：{problem}",
    "web_empty": "ウェブも検索しましたが、答えはありませんでした。",
    "web_not_written": "ウェブは検索しましたが、回答を書けませんでした：{problem}",
    "progress_lost": "この実行の途中経過は失われたため、これ以上は試せませんでした。",
    "not_routed": "質問はモデルなしで解釈されました：{problem}",
    "not_summarized": "会話はモデルなしで要約されました：{problem}",
}

TEXTS: dict[str, Texts] = {"en": ENGLISH, "zh": CHINESE, "ja": JAPANESE}

ABSTENTIONS = {
    "en": {
        "silent": "The documents do not say.",
        "missing": " Missing: {missing}.",
        "and": "; ",
        "not_searched": "The documents could not be searched in time.",
    },
    "zh": {
        "silent": "文档中没有相关说明。",
        "missing": "缺少：{missing}。",
        "and": "；",
        "not_searched": "未能在限定时间内检索文档。",
    },
    "ja": {
        "silent": "文書には記載がありません。",
        "missing": "不足している情報：{missing}。",
        "and": "；",
        "not_searched": "時間内に文書を検索できませんでした。",
    },
}

WAITING: dict[str, dict[ApprovalReason, str]] = {
    "en": {
        "low_score": "it scored below the threshold",
        "not_scored": "it could not be scored",
        "not_reviewed": "it could not be reviewed",
        "abstained": "the documents do not say, and the web could be searched",
        "policy": "every answer is approved here",
    },
    "zh": {
        "low_score": "得分低于阈值",
        "not_scored": "未能评分",
        "not_reviewed": "未能复核",
        "abstained": "文档中没有说明，可以搜索网络",
        "policy": "此处的每个回答都须审批",
    },
    "ja": {
        "low_score": "評価が基準を下回りました",
        "not_scored": "評価できませんでした",
        "not_reviewed": "レビューできませんでした",
        "abstained": "文書に記載がなく、ウェブを検索できます",
        "policy": "ここではすべての回答に承認が必要です",
    },
}

SHORTFALLS: dict[str, dict[Shortfall, str]] = {
    "en": {
        "empty": "nothing was found",
        "coverage": "it hardly covers what went wrong with this question before",
        "relevance": "the passages fit the question poorly",
        "diversity": "it comes from one source",
        "count": "there are few passages",
    },
    "zh": {
        "empty": "没有找到任何内容",
        "coverage": "几乎没有涵盖该问题以往出错之处",
        "relevance": "段落与问题的相关性低",
        "diversity": "仅来自一个来源",
        "count": "段落数量少",
    },
    "ja": {
        "empty": "何も見つかりませんでした",
        "coverage": "この質問で以前に問題となった箇所をほとんど含んでいません",
        "relevance": "質問との関連が低い段落です",
        "diversity": "情報源が一つだけです",
        "count": "段落が少数です",
    },
}

SEPARATORS = {"en": "; ", "zh": "；", "ja": "、"}
