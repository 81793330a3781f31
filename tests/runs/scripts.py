"""Documents in three languages, and replies of scripted models about them."""

from typing import Any

from veracity.models import Document

DOCUMENTS = [
    Document(
        id="leave",
        title="Annual leave",
        text="Full-time staff have 25 days of paid annual leave a year. Up to 5 days may be carried over until March. "
        "Leave is requested in the portal at least two weeks ahead.",
    ),
    Document(
        id="travel",
        title="Travel",
        text="Rail is the first choice for trips under 500 kilometres. Hotels may cost up to 150 euros a night. "
        "Receipts are handed in within 30 days.",
    ),
    Document(
        id="laptops",
        title="Laptops",
        text="Every laptop is encrypted. A lost laptop is reported to the help desk within one hour.",
    ),
    Document(id="年假", title="年假制度", text="正式员工每年享有十五天带薪年假。未休年假可以顺延到次年三月三十一日。"),
    Document(
        id="休暇", title="年次休暇", text="正社員には年に二十日の有給休暇があります。休暇は二週間前までに申請します。"
    ),
    *(
        Document(id=f"other{number}", title=f"Note {number}", text=f"Meeting room {number} seats {number + 3} staff.")
        for number in range(1, 8)
    ),
]

RETRY_DEADLINES = (0.8, 5.0, 30.0)  # seconds: a busy machine may need longer to reach the tested step
QUESTION = "How many days of annual leave do full-time staff have?"
GOOD = "Full-time staff have 25 days of paid annual leave a year. [1]"
WRONG = "Full-time staff have 40 days of paid annual leave a year. [1]"
UNCITED = "Full-time staff have 25 days of paid annual leave a year. [1] They are also given a car."

METRICS = ("ClarityCoherence", "Coverage", "Relevance")

PASS = {
    "reasonableness_detail": "It answers the question.",
    "reasonableness_passed": True,
    "evidence_detail": "It says what [1] says.",
    "evidence_passed": True,
    "suggestions": [],
    "confidence": 0.9,
}


def fail(*suggestions: str, confidence: float = 0.9) -> dict[str, Any]:
    return {**PASS, "evidence_passed": False, "suggestions": list(suggestions), "confidence": confidence}


def judged(*scores: float) -> list[dict[str, Any]]:
    """The replies of a judge for attempts with these scores, to one metric or to three in one call."""
    verdicts = ({"reason": "Because.", "score": score} for score in scores)
    return [{**verdict, **dict.fromkeys(METRICS, verdict)} for verdict in verdicts]
