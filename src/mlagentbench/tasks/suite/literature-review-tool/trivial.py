"""BM25 without a model: what the search service alone is good for."""

from pathlib import Path


def predictors(public: Path) -> dict[str, str]:
    return {"bm25": Path(__file__).with_name("bm25.py").read_text(encoding="utf-8")}
