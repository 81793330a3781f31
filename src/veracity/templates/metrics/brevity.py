from veracity import BaseMetric


class Brevity(BaseMetric):
    """Short answers score higher: 100 up to 200 characters, 0 from 1,200 on."""

    def evaluate(self, request):
        length = len(request.submission)
        return self.score(min(100, max(0, 120 - length / 10)), f"{length} characters.")
