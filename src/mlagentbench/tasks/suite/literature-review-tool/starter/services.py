"""The two services: a paper search and a language model. Standard library only."""

import json
import os
import urllib.error
import urllib.parse
import urllib.request
from xml.etree import ElementTree

SEARCH = os.environ.get("PAPER_SEARCH_URL", "http://127.0.0.1:8420/api/query")
MODEL = os.environ.get("OPENAI_BASE_URL", "http://127.0.0.1:8420/v1")
TIMEOUT = 600
ATOM = "{http://www.w3.org/2005/Atom}"
ARXIV = "{http://arxiv.org/schemas/atom}"


class LimitReached(Exception):
    """All searches, or all tokens of the model, are used."""


class ServiceError(Exception):
    """The service did not take the request; the text says why."""


def search(query: str, start: int = 0, max_results: int = 10) -> list[dict]:
    """The papers that match a query in arXiv's format, the best first.

    Each has id, title, authors (a list), abstract, year and journal.
    """
    parameters = {"search_query": query, "start": start, "max_results": max_results}
    answer = _open(f"{SEARCH}?{urllib.parse.urlencode(parameters)}")
    return [_paper(entry) for entry in ElementTree.fromstring(answer).iter(f"{ATOM}entry")]


def ask(prompt: str, system: str = "", max_tokens: int = 1000, **settings: object) -> str:
    """What the model says to a prompt; settings may be temperature, seed and stop."""
    messages = [{"role": "system", "content": system}] if system else []
    messages.append({"role": "user", "content": prompt})
    body = {"model": "tool", "messages": messages, "max_tokens": max_tokens, **settings}
    answer = json.loads(_open(f"{MODEL}/chat/completions", json.dumps(body).encode()))
    return answer["choices"][0]["message"]["content"]


def _open(address: str, body: bytes | None = None) -> bytes:
    request = urllib.request.Request(address, body, {"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT) as answer:
            return answer.read()
    except urllib.error.HTTPError as error:
        reason = json.loads(error.read())["error"]["message"]
        raise (LimitReached if error.code == 429 else ServiceError)(reason) from None


def _paper(entry: ElementTree.Element) -> dict:
    journal, _, year = entry.findtext(f"{ARXIV}journal_ref").rpartition(" ")
    return {
        "id": entry.findtext(f"{ATOM}id").rpartition("/")[2],
        "title": entry.findtext(f"{ATOM}title"),
        "authors": [author.findtext(f"{ATOM}name") for author in entry.iter(f"{ATOM}author")],
        "abstract": entry.findtext(f"{ATOM}summary"),
        "journal": journal,
        "year": int(year.strip("()")),
    }
