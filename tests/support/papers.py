"""A few papers and a tool model that says what it was asked, for the tests of the services."""

import json
from pathlib import Path

from mlagentbench.program_services.paper_search import PaperRecord
from mlagentbench.program_services.tool_model import ChatReply, ChatRequest

TEXTS = {
    "2001.00001": ("Glaciers & snow", "Ice melts in summer. Glaciers shrink."),
    "2002.00002": ("Street lamps", "Lamps use power; glaciers are not the subject."),
    "2003.00003": ("Power plants", "Plants make power. More power, less ice."),
}
PAPERS = [
    PaperRecord(
        id=name,
        title=title,
        authors=("Zoé Weiß", "Jun Ito"),
        journal="Letters",
        year=2020,
        published="2020-01-01T00:00:00Z",
        abstract=abstract,
    )
    for name, (title, abstract) in TEXTS.items()
]


def write_papers(directory: Path) -> Path:
    file = directory / "records.json"
    file.write_text(json.dumps([paper.model_dump(mode="json") for paper in PAPERS]))
    return file


class CountingTool:
    """Says how often it was asked, so that no two of its replies are the same."""

    name = "counting"

    def __init__(self) -> None:
        self.asked: list[ChatRequest] = []

    async def ask(self, request: ChatRequest) -> ChatReply:
        self.asked.append(request)
        return ChatReply(text=f"reply {len(self.asked)}", input_tokens=30, output_tokens=10)
