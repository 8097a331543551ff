"""The paper search: arXiv's query format, the ranking, and the feed."""

from urllib.parse import parse_qsl
from xml.etree import ElementTree

import pytest
from papers import PAPERS

from mlagentbench.program_services.paper_search import BadQuery, PaperSearch

ATOM = "{http://www.w3.org/2005/Atom}"
SEARCH = PaperSearch(PAPERS)
GLACIERS, LAMPS, PLANTS = range(3)


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("all:glaciers", [GLACIERS, LAMPS]),
        ("ti:glaciers", [GLACIERS]),
        ("abs:power AND ti:lamps", [LAMPS]),
        ("power ANDNOT lamps", [PLANTS]),
        ("ti:snow OR ti:plants", [GLACIERS, PLANTS]),
        ("power ice", [PLANTS, GLACIERS, LAMPS]),
        ('abs:"ice melts"', [GLACIERS]),
        ('"melts ice"', []),
        ("(snow OR plants) AND abs:ice", [PLANTS, GLACIERS]),
        ("au:weiß ANDNOT (power OR lamps)", [GLACIERS]),
        ("nothing-like-it", []),
    ],
)
def test_queries(query: str, found: list[int]) -> None:
    assert SEARCH.search(query) == found


@pytest.mark.parametrize(
    ("parameters", "reason"),
    [
        ("", "search_query or id_list is needed"),
        ("search_query=cat:cs", "unknown field 'cat'; known: ti, au, abs, all"),
        ("search_query=a AND", "a search term is missing"),
        ("search_query=(a", "a bracket is not closed"),
        ("search_query=a)", "a closing bracket"),
        ("search_query=a&start=-1", "start must be a whole number"),
        ("search_query=a&max_results=many", "max_results must be a whole number"),
        ("search_query=" + "(" * 3000, "longer than 2000"),
    ],
)
def test_queries_that_make_no_sense(parameters: str, reason: str) -> None:
    with pytest.raises(BadQuery, match=reason.replace("(", r"\(")):
        SEARCH.answer(dict(parse_qsl(parameters)))


def test_deep_brackets_are_no_danger() -> None:
    with pytest.raises(BadQuery, match="more than 50 brackets"):
        SEARCH.search("(" * 1990)


def entries(**parameters: str) -> list[ElementTree.Element]:
    feed = ElementTree.fromstring(SEARCH.answer(parameters))
    return list(feed.iter(f"{ATOM}entry"))


def test_the_feed_says_what_the_record_says() -> None:
    (entry,) = entries(search_query="ti:snow")
    assert entry.findtext(f"{ATOM}title") == "Glaciers & snow"
    assert entry.findtext(f"{ATOM}id") == "http://papers.example/abs/2001.00001"
    names = [author.findtext(f"{ATOM}name") for author in entry.iter(f"{ATOM}author")]
    assert names == ["Zoé Weiß", "Jun Ito"]
    assert entry.findtext("{http://arxiv.org/schemas/atom}journal_ref") == "Letters (2020)"


def test_pages_and_ids() -> None:
    assert len(entries(search_query="power ice")) == 3
    assert len(entries(search_query="power ice", max_results="2")) == 2
    assert len(entries(search_query="power ice", start="2")) == 1
    ids = {entry.findtext(f"{ATOM}id") for entry in entries(id_list="2001.00001v2,2003.00003,x")}
    assert {str(name)[-10:] for name in ids} == {"2001.00001", "2003.00003"}
    assert not entries(id_list="2001.00001", search_query="lamps")


def test_many_results_are_cut_off() -> None:
    search = PaperSearch([PAPERS[0].model_copy(update={"id": str(n)}) for n in range(60)])
    feed = ElementTree.fromstring(search.answer({"search_query": "snow", "max_results": "999"}))
    assert len(list(feed.iter(f"{ATOM}entry"))) == 25
    total = feed.findtext("{http://a9.com/-/spec/opensearch/1.1/}totalResults")
    assert total == "60"
