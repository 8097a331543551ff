"""The lines of the tables for machines: a field is a column."""

from mlagentbench.records import Record


class RunRow(Record):
    """A run: what it was, how it ended, what it is worth, what it took."""

    out: str
    path: str
    origin: str
    cluster: str
    task: str
    task_version: int
    tier: str
    variant: str
    data_hash: str
    data_verified: bool
    mini_seed: str | None
    agent: str
    model: str
    answered_by: str
    epoch: int
    sandbox: str
    isolation: str
    network: bool
    feedback: str
    protocol: str
    created: str
    outcome: str | None
    counts: bool
    cause: str
    graded: bool
    valid: bool | None
    score: float | None
    test_set_low: float | None
    test_set_high: float | None
    normalised: float | None
    success: bool | None
    paper_improvement: float | None
    paper_success: bool | None
    above_ceiling: bool | None
    floor: float | None
    bar: float | None
    reference: float | None
    steps: int
    wall_seconds: float
    working_seconds: float
    model_seconds: float | None
    script_seconds: float | None
    harness_seconds: float | None
    input_tokens: int | None
    cached_tokens: int | None
    output_tokens: int | None
    reasoning_tokens: int | None
    cost: float | None
    findings: int
    integrity_findings: int
    first_cause: str | None
    first_valid_step: int | None
    best_step: int | None
    regression: float | None
    validation_gap: float | None
    marks: str


class CellRow(Record):
    """All runs of one agent with one model on one task, under one set of conditions."""

    task: str
    agent: str
    model: str
    tier: str
    task_version: int
    data_hash: str
    sandbox: str
    feedback: str
    variant: str
    protocol: str
    runs: int
    counted: int
    missing: int
    greyed: bool
    metric: str
    better: str
    floor: float | None
    bar: float | None
    reference: float | None
    successes: int
    success_n: int
    success_rate: float | None
    success_low: float
    success_high: float
    success_if_missing_failed: float | None
    success_if_missing_succeeded: float | None
    paper_successes: int
    paper_success_n: int
    paper_success_rate: float | None
    paper_success_low: float
    paper_success_high: float
    paper_improvement_mean: float | None
    paper_improvement_error: float | None
    paper_improvement_low: float | None
    paper_improvement_high: float | None
    valid: int
    valid_n: int
    valid_rate: float | None
    score_n: int
    score_mean: float | None
    score_error: float | None
    score_low: float | None
    score_high: float | None
    normalised_n: int
    normalised_mean: float | None
    normalised_error: float | None
    normalised_low: float | None
    normalised_high: float | None
    best_seen_mean: float | None
    submitted_mean: float | None
    pass_at_1: float | None
    pass_at_2: float | None
    pass_at_4: float | None
    pass_at_8: float | None
    test_set_low: float | None
    test_set_high: float | None
    tokens_mean: float | None
    cost_mean: float | None
    working_seconds_mean: float | None
    steps_mean: float | None
    tokens_per_success: float | None
    cost_per_success: float | None
    from_measured: bool
    marks: str


class AgentRow(Record):
    """An agent with its model over all tasks of a leaderboard."""

    leaderboard: str
    agent: str
    model: str
    is_reference_agent: bool
    tasks: int
    runs: int
    missing: int
    greyed: bool
    success_mean: float | None
    success_low: float | None
    success_high: float | None
    success_low_over_tasks: float | None
    success_high_over_tasks: float | None
    success_if_missing_failed: float | None
    success_if_missing_succeeded: float | None
    paper_success_mean: float | None
    paper_success_low: float | None
    paper_success_high: float | None
    normalised_mean: float | None
    normalised_low: float | None
    normalised_high: float | None
    normalised_low_over_tasks: float | None
    normalised_high_over_tasks: float | None
    valid_mean: float | None
    successes: int
    tokens: int | None
    cost: float | None
    working_seconds: float
    tokens_per_success: float | None
    cost_per_success: float | None
    marks: str


class FindingRow(Record):
    """One finding of a run's process, with the steps that prove it."""

    out: str
    path: str
    task: str
    agent: str
    model: str
    kind: str
    form: str
    level: str | None
    is_integrity: bool
    steps: str
    detail: str
    quote: str


class ComparisonRow(Record):
    """Two agents, over all tasks of a leaderboard (`task` is empty) or on one of them.

    `first_n` and `second_n` count what is independent: histories over all tasks, runs on one.
    """

    leaderboard: str
    measure: str
    first: str
    second: str
    task: str
    difference: float
    low: float | None
    high: float | None
    p: float
    p_holm: float | None
    detectable: float | None
    first_n: int
    second_n: int
    note: str
