"""Evidence for tests: passages of the bundled handbook, with their offsets."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from veracity.language import guess_language
from veracity.models import Evidence, EvidenceMetadata

HANDBOOK = Path(str(files("veracity"))) / "handbook"


def document(location: str) -> str:
    return (HANDBOOK / location).read_text(encoding="utf-8")


def passage(location: str, heading: str) -> Evidence:
    """The text below a heading of a document."""
    text = document(location)
    start = text.index(f"## {heading}\n\n") + len(f"## {heading}\n\n")
    end = text.find("\n\n## ", start)
    end = len(text.rstrip()) if end < 0 else end
    title = text.splitlines()[0].removeprefix("# ")
    return Evidence(
        id=f"{location}#{heading}",
        text=text[start:end],
        source="knowledge",
        document_id=location,
        title=title,
        location=location,
        headings=[title, heading],
        page=None,
        start=start,
        end=end,
        language=guess_language(text),
        metadata=EvidenceMetadata(relevance_score=0.9),
    )


LEAVE = {
    "en": [passage("dublin/leave.md", "How many days"), passage("dublin/leave.md", "Carrying days over")],
    "zh": [passage("shanghai/leave.md", "天数"), passage("shanghai/leave.md", "结转与折现")],
    "ja": [passage("osaka/leave.md", "年次有給休暇"), passage("osaka/leave.md", "取得の単位と申請")],
}
QUESTION = {
    "en": "How many days of annual leave do full-time staff get?",
    "zh": "员工每年有多少天年休假？",
    "ja": "有給休暇は何日付与されますか。",
}
SOUND = {
    "en": "Full-time staff receive 24 days of paid annual leave [1]. "
    "Up to five unused days move into the next year. [2]",
    "zh": "员工入职满一年后，每年享有带薪年休假12天[1]。当年未休完的年休假最多可结转6天。[2]",
    "ja": "入社日に10日が付与されます[1]。時間単位の取得は年間40時間が上限です。[2]",
}
WRONG = {
    "en": "Full-time staff receive 30 days of paid annual leave [1].",
    "zh": "员工入职满一年后，每年享有带薪年休假20天[1]。",
    "ja": "入社日に15日が付与されます[1]。",
}
