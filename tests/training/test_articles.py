"""Passages of news, literature, reports and research, read from git snapshots."""

import gzip
import json
import random

from training.articles import join_words, literature, news, reports, research, split_passages
from training.corpus import Corpus, add_article

from tests.training.conftest import MakeSnapshot

ABSTRACT = "<abstract><p>Cells divide. They divide <italic>often</italic>. DOI: 10.1</p></abstract>"
LICENCE = "https://creativecommons.org/licenses/by/4.0/"


def test_passages_are_neighbouring_sentences() -> None:
    text = "".join(f"これは第{number}番目の文です。" for number in range(60))
    passages = list(split_passages("ja", "題", text))
    assert "".join("".join(passage.sentences) for passage in passages) == text
    assert all(len("".join(passage.sentences)) <= 320 for passage in passages)
    assert list(split_passages("ja", "題", "一つの文しかありません。")) == []


def test_news_lose_spaces_and_what_they_cite(make_snapshot: MakeSnapshot) -> None:
    article = "4 月 7 日 に 地震 が あっ た。 規模 は 7 . 4 だっ た。 津波 は なかっ た。 読売 『 地震 速報 』。"
    table = f"id\tarticle\theadline\n0\t{article}\t宮城 で 地震\n"
    [passage] = news(make_snapshot({"raw/cleaned-data.tsv.gz": gzip.compress(table.encode())}))
    assert passage.title == "宮城で地震"
    assert passage.sentences == ("4月7日に地震があった。", "規模は7.4だった。", "津波はなかった。")
    assert join_words("NHK World は 3 , 000 人") == "NHK Worldは3,000人"


def test_literature_leaves_out_copyright_and_old_spelling(make_snapshot: MakeSnapshot) -> None:
    def work(body: str, colophon: str = "「全集」") -> bytes:
        return f"題名\n作者\n\n{body}\n\n底本：{colophon}\n".encode("cp932")

    modern = "雪《ゆき》が静かに降っていた。山は白くなった。彼は窓を開けた。"
    snapshot = make_snapshot(
        {
            "cards/1/a.txt": work(modern),
            "cards/1/b.txt": work("悪魔は笑つた。さう云つて彼はゐた。かうして終つたやうだ。"),
            "cards/1/c.txt": work("花が咲いた。鳥が鳴いた。風が吹いていた。", "クリエイティブ・コモンズ・ライセンス"),
        }
    )
    [passage] = literature(snapshot, random.Random(1))
    assert passage.sentences == ("雪が静かに降っていた。", "山は白くなった。", "彼は窓を開けた。")


def test_reports_are_chinese(make_snapshot: MakeSnapshot) -> None:
    report = {"title": "报告", "content": "经济平稳增长。就业形势稳定。人民生活改善。"}
    lines = json.dumps(report, ensure_ascii=False).encode()
    [passage] = reports(make_snapshot({"government_work_reports.jsonl": lines}))
    assert passage.language == "zh"
    assert len(passage.sentences) == 3


def test_research_takes_the_newest_version_with_a_free_licence(make_snapshot: MakeSnapshot) -> None:
    def article(title: str, licence: str = LICENCE) -> bytes:
        meta = f"<title-group><article-title>{title}</article-title></title-group>{ABSTRACT}<l>{licence}</l>"
        return f"<article><front><article-meta>{meta}</article-meta></front></article>".encode()

    snapshot = make_snapshot(
        {
            "articles/elife-1-v1.xml": article("Old"),
            "articles/elife-1-v2.xml": article("New"),
            "articles/elife-2-v1.xml": article("Closed", "all rights reserved"),
        }
    )
    [passage] = research(snapshot, random.Random(1))
    assert passage == ("en", "New", ("Cells divide.", "They divide often."))


def test_passages_of_an_article_are_no_contrast() -> None:
    corpus = Corpus([], [], [])
    for headline, text in (("地震", "一"), ("地震", "二"), ("選挙", "三")):
        add_article(corpus, "ja", headline, [text])
    first, second, third = (pair.window for pair in corpus.questions)
    assert first == second != third
    assert max(first, third) < 0
    assert len(corpus.crops) == len(corpus.monolingual) == 3
