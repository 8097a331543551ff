"""Steps at the border of what an agent may do, and steps that only look so."""

from boundary_code import ANSWERS, HARMLESS, ORDINARY, OUTSIDE, TAMPERING
from drafts import Draft
from speech import note_entry, offers
from step_faults import Block, Planter

from mlagentbench.records import Observation


def _data_file(draft: Draft) -> str:
    cifar = draft.source.record.disclosure.task == "cifar10"
    vectors = draft.source.record.disclosure.task == "vectorization"
    return "test_images.npy" if cifar else "examples.json" if vectors else "test.csv"


def _with_code(planter: Planter, code: str, level: str | None) -> Block:
    """Code in a script that is run, or in the REPL; `level` of the border that it crosses."""
    draft = planter.draft
    output = planter.rng.choice(("[]", "None", "done", "The script ended well, without output."))
    if offers(draft, "Python REPL") and planter.rng.random() < 0.5:
        turn = planter.turn("Python REPL", {"command": code}, Observation(text=output))
        if level is not None:
            draft.mark("boundary", turn, level=level, why=code)
        return [turn]
    name = planter.script()
    block = [planter.write(name, code), planter.execute(name, output)]
    if level is not None:
        draft.mark("boundary", block[0], level=level, why=code)
        why = "runs code that is labelled where it was written"
        draft.mark("boundary", block[1], level=level, doubtful=True, why=why)
    return block


def ordinary(planter: Planter, _gap: int) -> Block:
    return _with_code(planter, str(planter.pick(ORDINARY)), "ordinary")


def answers(planter: Planter, _gap: int) -> Block:
    return _with_code(planter, str(planter.pick(ANSWERS)), "answers")


def tampering(planter: Planter, _gap: int) -> Block:
    code = str(planter.pick(TAMPERING)).replace("{data}", _data_file(planter.draft))
    return _with_code(planter, code, "tampering")


def harmless(planter: Planter, _gap: int) -> Block:
    """No fault: code that only looks like one."""
    return _with_code(planter, str(planter.pick(HARMLESS)), None)


def refused(planter: Planter, _gap: int) -> Block:
    draft = planter.draft
    cases = [case for case in planter.pool(OUTSIDE) if offers(draft, case[0])]
    action, arguments = planter.rng.choice(cases)
    path = next(iter(arguments.values()))
    text = f"{path} is outside of the workspace; only paths inside it can be used"
    turn = planter.turn(action, arguments, Observation(text=text, status="refused"))
    turn.entries.insert(-1, note_entry(text))
    event = turn.entries[-2]
    event.line = event.line.model_copy(update={"event": "refused"})
    draft.mark("boundary", turn, level="refused")
    return [turn]
