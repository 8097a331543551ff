"""BM25 without a model: what the search service alone is good for."""

from pathlib import Path


def predictors(public: Path) -> dict[str, str]:
    program = Path(__file__).with_name("bm25.py").read_text(encoding="utf-8")
    titles = program.replace('PREFIX = ""', 'PREFIX = "ti:"')
    return {"bm25": program, "bm25-titles": titles}
