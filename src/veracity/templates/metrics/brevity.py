from veracity import BaseMetric


class Brevity(BaseMetric):
    """Short answers score higher: 100 up to 50 words, 0 from 250 words on."""

    def evaluate(self, request):
        words = len(request.submission.split())
        return self.score(min(100, max(0, 100 - (words - 50) / 2)), f"{words} words.")
