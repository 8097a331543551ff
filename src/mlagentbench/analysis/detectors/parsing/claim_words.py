r"""The words that tell what a clause is: a result, a guess, a goal, a setting, a change.

A blank in a phrase matches any white space.
"""

import re


def one_of(*phrases: str, before: str = r"(?<!\w)", behind: str = r"(?!\w)") -> re.Pattern[str]:
    """A pattern of whole words, in any case."""
    choice = "|".join(phrases).replace(" ", r"\s+")
    return re.compile(f"{before}(?:{choice}){behind}", re.IGNORECASE)


METRIC_WORDS = (
    r"accurac(?:y|ies)|acc|error(?: rate)?s?|loss(?:es)?|scores?|m[as]e|rmsl?e|mape|f1|auc|auroc"
    r"|precision|recall|m?iou|smape|mcrmse|perplexity|r2|r²|r\^2|correlation|run ?time|time taken"
    r"|speed-?up|log-?loss|dice|ndcg|bleu|map@\d+"
)

NO_METRIC = one_of(
    r"standard (?:error|deviation)s?|margin of error|error (?:messages?|codes?|bars?|handling)",
    r"error logs?|(?:loss|score|error) functions?|errors?(?= (?:occurr|is in|in line))",
    r"(?:no|without(?: an?)?) errors?|recall (?:that|how|the|from)|\w+error(?<!\berror)",
    r"early stopping on \w+",
)
"""Phrases that contain a metric word but are not about the metric."""

NOT_ASSERTED = one_of(
    # a guess
    r"may|might|could|should|would|will|shall|can|cannot|must|needs?|needed|expect\w*|likely",
    r"probabl[ey]|perhaps|maybe|possibl[ey]|guess\w*|estimat\w*|about to|going to|assum\w+",
    r"suppos\w+|hop(?:e|es|ing|ed|eful)|suspect|believe|think|presumabl[ey]|hypothes\w+|potential(?:ly)?",
    # a goal or a condition
    r"goals?|targets?|aim(?:s|ed|ing)?|want(?:s|ed)?|if|unless|until|in order to|at least|at most",
    r"below|above|threshold|keep (?:it )?only|to (?:be )?beat(?:en)?|tr(?:y|ies|ying) to|limits?",
    r"plan(?:s|ned|ning)? to|so that|let(?:'s| us| me)|to do|requir\w+|whether|otherwise",
    r"to (?:see|check|get|reach|achieve|improve|reduce|lower|raise|increase)",
    # what others know
    r"literature|papers?|typical(?:ly)?|usual(?:ly)?|state.of.the.art|sota|known",
    r"benchmarks?|leaderboard|published|commonly|in general|generally|others",
    # a negation
    r"not|\w+n['’]t|never|unknown|un(?:tested|measured|confirmed|verified)|nobody|nothing",
    r"neither|nor",
    # an example
    r"e\.g|for example|for instance|such as|example|say|imagine|(?:is|are) computed",
)

SETTING = one_of(
    r"learning.rates?|lr|alphas?|beta\d?|gamma|lambda|delta|epsilon|eps|dropout|weights?|decay",
    r"fractions?|splits?|seeds?|epochs?|batch(?:es)?|momentum|smoothing|clip(?:ping|ped)?|margin",
    r"toleranc\w+|quantiles?|subsampl\w*|shares?|proportions?|probabilit\w+|coefficients?",
    r"temperature|step size|penalt\w+|regulari[sz]ation|warm-?up|percentile|confidence|rates?|rank",
    r"(?:hyper-?)?parameters?|max_\w+|min_\w+|n_\w+|sampl(?:e|es|ing)|noise|jitter|cut-?off|blend\w*",
    r"power|exponent|sigma|c|depth|size|width|kernel|version|python|numpy|(?:py)?torch|sklearn",
    r"scikit-learn|pandas|of (?:the )?(?:data|rows|columns|images|training)|line",
)

_DOING = (
    "use|try|add|set|train|tune|apply|replace|increase|decrease|reduce|change|implement|fit|keep"
    "|switch|lower|raise|write|edit|modify|combine|blend|start|make|choose|take|give|weight|scale"
    "|clip|drop|build|create|select"
)
_ASKED = (
    "run|evaluate|improve|experiment|submit|check|compare|validate|consider|print|log|report"
    "|measure|test|explore|optimi[sz]e|minimi[sz]e|maximi[sz]e|generate|stop|get|achieve|reach"
)
INSTRUCTION = re.compile(
    r"\A[\s\-*•(\[\d.)]*(?:(?:then|now|next|first|finally|also) )?"
    rf"(?:(?:{_DOING}|{_ASKED})|(?:i|we)(?: now| then| also)? (?:{_DOING}))\s+"
    rf"(?!(?:{METRIC_WORDS})\b|\d|is\b|was\b|=|:)",
    re.IGNORECASE,
)
"""A clause that says what to do, or what the agent is doing."""

RESULT = re.compile(
    r"\b(?:got|gets?|gives?|gave|reach(?:es|ed)|achiev(?:es|ed)|yield(?:s|ed)|obtain(?:s|ed)|results?"
    r"|resulted|measured|show(?:s|ed)|done|is|was|now)\b|=",
    re.IGNORECASE,
)
"""Words that mark a result in a clause that begins like an instruction."""

CHANGE = one_of(
    r"by|improve\w*|gain\w*|increas\w+|decreas\w+|drop\w*|reduc\w+|differ\w*|gap|factor|ratio|times",
    r"fold|faster|slower|lower|higher|better|worse|more|less|fewer|points?|smaller|larger|relative",
    r"speed-?up|fell|fall\w*|rose|rise\w*|cut|saved?|savings?|half|halved|against|compared|versus|vs",
    r"over|than|change\w*|lift\w*|up|down|\d+ ?[x×]|% of",
    before=r"(?:(?<!\w)|(?<=[.\d]))",
)
MEAN = one_of(r"means?|averag\w+|avg|both|folds?|cross-?valid\w*")
ERROR = one_of("errors?")

LEVEL_BEFORE = re.compile(
    rf"(?:\b(?:{METRIC_WORDS})(?:\s+\w+){{0,3}}?\s*(?:=|:|of|is|was|at|to|reaches|reached|now)?\s*"
    r"|\bto\s+|\bat\s+|\breach\w*\s+|=\s*)\Z",
    re.IGNORECASE,
)
"""Directly before a number that is the metric's value, not a change of it."""
CHANGE_BEFORE = re.compile(
    r"\b(?:improvement|gain|increase|decrease|drop|reduction|difference|gap|by|factor|ratio"
    r"|speed-?up|lower|higher|better|worse|faster|slower)\b(?:\s+\w+){0,3}\s*\Z",
    re.IGNORECASE,
)
CHANGE_BEHIND = re.compile(
    r"\s?(?:[x×]|times|-?fold|%|points?)?\s*(?:lower|higher|better|worse|faster|slower|less|more|fewer"
    r"|smaller|larger|points?|improvement|reduction|gain|increase|decrease|drop|speed-?up)\b",
    re.IGNORECASE,
)
BOUND_BEFORE = re.compile(
    r"(?:more|less|fewer|greater|higher|lower|better|worse|larger|smaller|faster|slower|bigger)"
    r"\s+than(?:\s+\w+){0,2}\s*\Z|(?:over|under|up\s+to|exceed\w*|beyond|within|max(?:imum)?(?:\s+of)?"
    r"|min(?:imum)?\s+of|[<>≤≥]=?)\s*\Z",
    re.IGNORECASE,
)
ROUGH_BEFORE = re.compile(
    r"(?:about|around|approximately|approx\.?|roughly|circa|ca\.?|nearly|almost|some|close\s+to|near"
    r"|~|≈)\s*\Z",
    re.IGNORECASE,
)
OTHER_UNIT = re.compile(
    r"\s?(?:[kmgt]i?b\b|(?:giga|mega)?bytes?\b|g?hz\b|m\s+param|[mb]illion|px\b|°)"
    r"|\sof\s+(?:the\s+)?(?:data|rows|columns|images|samples|train\w*|test|examples|houses|features"
    r"|passengers|memory|validation|all|missing|values)\b"
    r"|\s(?:validation|hold-?out|test|train|training)(?:/\S+)?\s+(?:split|set|part|share|fraction)\b",
    re.IGNORECASE,
)
"""Directly after a number that is not a metric's value."""
TIME_UNIT = re.compile(
    r"\s?(?:ms|µs|us|s|secs?|seconds?|milliseconds?|min|minutes?|h|hours?)\b", re.IGNORECASE
)
