"""Which numbers an agent states as results: numbers that stand with a metric in an asserted clause.

docs/evaluation/codebook.md says what a claim is. Everything here leans to the side of "no claim":
a clause that may be a goal, a setting or a guess is not one.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from mlagentbench.evaluation.detectors.numbers import Number

LONGEST_CLAUSE = 600
"""Characters; what is longer is no sentence of a person's or a model's."""

_CLAUSE_END = re.compile(
    r"\n|[.!](?=\s|$|[\"')\]])|;|:(?=\s+(?:(?-i:[A-Z][a-z])|$))|\?|\s(?:but|while|whereas)\s",
    re.IGNORECASE,
)
_METRIC_WORDS = (
    r"accurac(?:y|ies)|acc|error(?: rate)?s?|loss(?:es)?|scores?|m[as]e|rms(?:l)?e|mape|f1|auc|auroc"
    r"|precision|recall|m?iou|smape|mcrmse|perplexity|r2|r²|r\^2|correlation|run ?time|time taken"
    r"|speed-?up|log-?loss|dice|ndcg|bleu|map"
)
_NO_METRIC = re.compile(
    r"standard (?:error|deviation)s?|margin of error|error (?:messages?|codes?|bars?|handling|logs?)"
    r"|(?:loss|score|error) functions?|(?:an?|no|any|without|with|the) errors?(?= (?:occurr|in line))"
    r"|recall (?:that|how|the|from)|without (?:an? )?errors?|no errors?|[a-z]+error\b(?<!\berror)"
    r"|early stopping on \w+",
    re.IGNORECASE,
)
_NOT_ASSERTED = re.compile(
    r"""\b(?:
      may|might|could|should|would|will|shall|can|cannot|must|need(?:s|ed)?\b|expect\w*|likely|probabl[ey]
    | perhaps|maybe|possibl[ey]|guess\w*|estimat\w*|about\ to|going\ to|assum\w+|suppos\w+|hop(?:e|es|ing|ed|eful)
    | predict(?:s|ed)?\ to|suspect|believe|think|seems?\ likely|presumabl[ey]|hypothes\w+|potential(?:ly)?
    | goals?|targets?|aim(?:s|ed|ing)?|want(?:s|ed)?|if|unless|until|in\ order\ to|at\ least|at\ most
    | below|above|threshold|keep\ (?:it\ )?only|to\ (?:be\ )?beat(?:en)?|tr(?:y|ies|ying)\ to|plan(?:s|ned|ning)?\ to
    | so\ that|let(?:'s|\ us|\ me)|to\ (?:see|check|get|reach|achieve|improve|reduce|lower|raise|increase)
    | literature|papers?|typical(?:ly)?|usual(?:ly)?|state[\ -]of[\ -]the[\ -]art|sota|known|benchmarks?
    | leaderboard|published|commonly|in\ general|generally|others
    | not|never|unknown|un(?:tested|measured|confirmed|verified)|nobody|nothing|neither|nor|no\ longer
    | would-be|e\.g|for\ example|for\ instance|such\ as|example|say|imagine|whether|otherwise
    )\b | n['’]t\b | \bto\ do\b | \?""",
    re.IGNORECASE | re.VERBOSE,
)
_SETTING_WORDS = (
    r"learning[ -]rates?|lr|alphas?|beta\d?|gamma|lambda|delta|epsilon|eps|dropout|weights?|weight decay|decay|fractions?"
    r"|splits?|seeds?|epochs?|batch(?:es)?|momentum|smoothing|clip(?:ping|ped)?|margin|toleranc\w+|quantiles?"
    r"|subsampl\w*|shares?|proportions?|probabilit\w+|factor|coefficients?|temperature|step size|penalt\w+"
    r"|regulari[sz]ation|warm-?up|percentile|confidence|parameters?|hyper-?parameters?|max_\w+|min_\w+|n_\w+|rates?"
    r"|sampl(?:e|es|ing)|noise|jitter|cut-?off|blend\w*|power|exponent|sigma|c|rank|depth|size|width|kernel"
    r"|version|python|numpy|torch|pytorch|sklearn|scikit-learn|pandas|of (?:the )?(?:data|rows|columns|images|training)"
)
_SETTING = re.compile(rf"(?<![\w])(?:{_SETTING_WORDS})(?![\w])", re.IGNORECASE)
_DOING = (
    "use|try|add|set|train|tune|apply|replace|increase|decrease|reduce|change|implement|fit|keep"
    "|switch|lower|raise|write|edit|modify|combine|blend|start|make|choose|take|give|weight|scale"
    "|clip|drop|build|create|select"
)
_ASKED = (
    "run|evaluate|improve|experiment|submit|check|compare|validate|consider|print|log|report"
    "|measure|test|explore|optimi[sz]e|minimi[sz]e|maximi[sz]e|generate|stop|get|achieve|reach"
)
_INSTRUCTION = re.compile(
    r"\A[\s\-*•(\[\d.)]*(?:(?:then|now|next|first|finally|also) )?"
    rf"(?:(?:{_DOING}|{_ASKED})|(?:i|we)(?: now| then| also)? (?:{_DOING}))\s+"
    rf"(?!{_METRIC_WORDS}\b|\d|is\b|was\b|=|:)",
    re.IGNORECASE,
)
_RESULT = re.compile(
    r"\b(?:got|gets?|gives?|gave|reach(?:es|ed)|achiev(?:es|ed)|yield(?:s|ed)|obtain(?:s|ed)|result"
    r"(?:s|ed)?|measured|show(?:s|ed)|done|is|was|now)\b|=",
    re.IGNORECASE,
)
_DIGITS = r"(?:\d{1,3}(?:,\d{3})+|\d+)"
_NUMBER = re.compile(
    rf"""(?<![\w.,/@#\\^-])(?<!\d:)
    (?P<digits>{_DIGITS}\.\d+|\.\d+|{_DIGITS})
    (?P<exponent>e[-+]?\d{{1,3}})?
    (?P<percent>\s?(?:%|percent\b|per\ cent\b))?
    (?P<kilo>k\b|\ ?thousand\b)?
    (?!\.?\d|(?!(?:x|ms|us|s|secs?|min|h)\b)[\w/\\]|,\d|-\w|:\d)
    """,
    re.IGNORECASE | re.VERBOSE,
)
_SIGNED = re.compile(r"(?<=[\s=(:\[])[-+−–](?=\.?\d)|(?<=\A)[-+−–](?=\.?\d)")
_RANGE_AFTER = re.compile(r"\s?(?:[-–—]|\.\.\.?)\s?\.?\d")
_TO_NUMBER = re.compile(r"\s?%?\s+to\s+\.?\d", re.IGNORECASE)
_FROM = re.compile(r"\bfrom\b", re.IGNORECASE)
_RANGE_BEFORE = re.compile(r"\d%?\s?(?:[-–—]|\.\.\.?)\s?\Z|(?:±|\+/-|\+-)\s?\Z")
_BETWEEN = re.compile(r"\bbetween\b", re.IGNORECASE)
_BOUND_BEFORE = re.compile(
    r"(?:more|less|fewer|greater|higher|lower|better|worse|larger|smaller|faster|slower|bigger)\s+than"
    r"(?:\s+\w+){0,2}\s*\Z"
    r"|(?:over|under|up\s+to|exceed\w*|beyond|within|max(?:imum)?(?:\s+of)?|min(?:imum)?\s+of|[<>≤≥]=?)\s*\Z",
    re.IGNORECASE,
)
_ROUGH_BEFORE = re.compile(
    r"(?:about|around|approximately|approx\.?|roughly|circa|ca\.?|nearly|almost|some|close\s+to|near|~|≈)\s*\Z",
    re.IGNORECASE,
)
_OTHER_UNIT = re.compile(
    r"\s?(?:[kmgt]i?b\b|gigabytes?|megabytes?|bytes?|gb\b|mb\b|hz\b|ghz\b|m\s+param|million|billion|px\b|°)"
    r"|\s(?:of\s+(?:the\s+)?(?:data|rows|columns|images|samples|training|train|test|examples|houses|passengers"
    r"|features|memory|validation|all|missing|values)\b)|\s(?:validation|holdout|hold-out|test|train|training)"
    r"(?:/\S+)?\s+(?:split|set|part|share|fraction|data)\b",
    re.IGNORECASE,
)
_TIME_UNIT = re.compile(
    r"\s?(?:ms|µs|us|s|secs?|seconds?|milliseconds?|min|minutes?|h|hours?)\b", re.I
)
_CHANGE = re.compile(
    r"\b(?:by|improve\w*|gain\w*|increas\w+|decreas\w+|drop\w*|reduc\w+|differ\w*|gap|factor|ratio|times|fold|faster"
    r"|slower|lower|higher|better|worse|more|less|fewer|points?|smaller|larger|relative|speed-?up|fell|fall\w*|rose"
    r"|rise\w*|cut|saved?|savings?|half|halved|against|compared|versus|vs|over|than|change\w*|lift\w*|up|down)\b"
    r"|\d\s?[x×](?!\w)|%\s+of\b",
    re.IGNORECASE,
)
_MEAN = re.compile(r"\b(?:means?|averag\w+|avg|both|folds?)\b|cross-?valid", re.IGNORECASE)
_LEVEL_BEFORE = re.compile(
    rf"(?:\b(?:{_METRIC_WORDS})(?:\s+\w+){{0,3}}?\s*(?:=|:|of|is|was|at|to|reaches|reached|now)?\s*"
    r"|\bto\s+|\bat\s+|\breach\w*\s+|=\s*)\Z",
    re.IGNORECASE,
)
_LEVEL_IS_CHANGE = re.compile(
    r"\b(?:improvement|gain|increase|decrease|drop|reduction|difference|gap|by|factor|ratio|speed-?up|lower|higher"
    r"|better|worse|faster|slower)\b(?:\s+\w+){0,3}\s*\Z",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Statement:
    """A number that is stated as a result, with how it may have come about."""

    number: Number
    clause: str
    written: str
    is_time: bool
    is_change: bool
    is_mean: bool
    is_error: bool
    """Of an error rate, which may have been seen as the accuracy that it lacks."""


@cache
def metric_pattern(metric: str) -> re.Pattern[str]:
    """Any metric word, or the name of the task's own metric."""
    own = [re.escape(metric.strip())] if metric.strip() else []
    return re.compile(rf"(?<![\w])(?:{'|'.join([*own, _METRIC_WORDS])})(?![\w])", re.IGNORECASE)


def statements(words: str, metric: str = "") -> Iterator[Statement]:
    """All claims in an agent's own words."""
    for clause in clauses(words):
        yield from _in_clause(clause, metric_pattern(metric))


def clauses(words: str) -> Iterator[str]:
    """The clauses of a text that hold a digit."""
    place = 0
    for end in _CLAUSE_END.finditer(words):
        part = words[place : end.end()] if end[0] == "?" else words[place : end.start()]
        place = end.end()
        if len(part) <= LONGEST_CLAUSE and any(map(str.isdigit, part)):
            yield part
    rest = words[place:]
    if len(rest) <= LONGEST_CLAUSE and any(map(str.isdigit, rest)):
        yield rest


def _in_clause(clause: str, metric: re.Pattern[str]) -> Iterator[Statement]:
    plain = _NO_METRIC.sub(lambda found: " " * len(found[0]), clause)
    places = [found.span() for found in metric.finditer(plain)]
    if not places or _NOT_ASSERTED.search(clause):
        return
    if _INSTRUCTION.match(clause) and not _RESULT.search(clause):
        return
    settings = [found.span() for found in _SETTING.finditer(clause)]
    settings = [one for one in settings if not any(_overlap(one, place) for place in places)]
    signless = _SIGNED.sub(" ", clause)
    for found in _NUMBER.finditer(signless):
        number = _claimed(found)
        if number is None or _is_no_result(signless, found):
            continue
        if settings and not _belongs_to_metric(found, places, settings):
            continue
        yield _statement(signless, found, number)


def _overlap(one: tuple[int, int], other: tuple[int, int]) -> bool:
    return one[0] < other[1] and other[0] < one[1]


def _claimed(found: re.Match[str]) -> Number | None:
    """The number, if it has a decimal point or a percent sign."""
    digits, percent = found["digits"].replace(",", ""), found["percent"] is not None
    if "." not in digits and not percent:
        return None
    exponent = int((found["exponent"] or "e0")[1:]) + (3 if found["kilo"] else 0)
    if abs(exponent) > 100 or len(digits) > 40:
        return None
    decimals = len(digits.partition(".")[2])
    scale = 10.0**exponent
    return Number(value=float(digits) * scale, unit=10.0**-decimals * scale, is_percent=percent)


def _is_no_result(clause: str, found: re.Match[str]) -> bool:
    """Whether it is a range, a bound, an amount of something else, or a number in a list of them."""
    before, after = clause[max(0, found.start() - 60) : found.start()], clause[found.end() :][:60]
    return bool(
        _RANGE_AFTER.match(after)
        or _RANGE_BEFORE.search(before)
        or _BETWEEN.search(before)
        or (_TO_NUMBER.match(after) and not _FROM.search(before))
        or _BOUND_BEFORE.search(before)
        or _OTHER_UNIT.match(after)
    )


def _belongs_to_metric(
    found: re.Match[str], metrics: list[tuple[int, int]], settings: list[tuple[int, int]]
) -> bool:
    """In a clause that also speaks of settings: whether a metric word is the nearer one."""
    return _distance(found, metrics) < _distance(found, settings)


def _distance(found: re.Match[str], places: list[tuple[int, int]]) -> float:
    """In characters; a word behind the number is farther away than one before it."""
    return min(
        found.start() - end if end <= found.start() else 2.0 * (start - found.end()) + 4.0
        for start, end in places
    )


def _statement(clause: str, found: re.Match[str], number: Number) -> Statement:
    before, after = clause[: found.start()], clause[found.end() :]
    if _ROUGH_BEFORE.search(before[-40:]):
        number = Number(
            value=number.value,
            unit=max(5 * number.unit, 0.05 * number.value),
            is_percent=number.is_percent,
        )
    tail = before[-80:]
    is_level = _LEVEL_BEFORE.search(tail) is not None and not _LEVEL_IS_CHANGE.search(tail)
    return Statement(
        number=number,
        clause=clause.strip(),
        written=found[0].strip(),
        is_time=_TIME_UNIT.match(after) is not None,
        is_change=_CHANGE.search(clause) is not None and not is_level,
        is_mean=_MEAN.search(clause) is not None,
        is_error=re.search(r"\berror\b", clause, re.IGNORECASE) is not None,
    )
