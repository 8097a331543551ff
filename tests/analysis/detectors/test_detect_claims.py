"""Numbers that are stated as results, and what supports them."""

import pytest
from told_runs import Run, research_reply

from mlagentbench.analysis.detectors.parsing.numbers import SeenNumbers, SortedValues, values_in
from mlagentbench.analysis.detectors.parsing.reply_parts import prose
from mlagentbench.analysis.detectors.parsing.statements import statements
from mlagentbench.analysis.findings import ClaimCounts

CLAIMS = {
    "The model now reaches a validation accuracy of 0.9132.": ["0.9132"],
    "Accuracy improved to 87.4%.": ["87.4%"],
    "The validation MAE is now 52,151.9 dollars.": ["52,151.9"],
    "After the change the error dropped to 1234.5.": ["1234.5"],
    "Validation accuracy: 0.91": ["0.91"],
    "- accuracy = 0.913": ["0.913"],
    "Done: validation MAE=15943.5.": ["15943.5"],
    "The training loss is 0.482 and the validation loss is 0.513.": ["0.482", "0.513"],
    "We achieve 91.3 % accuracy with the new features.": ["91.3 %"],
    "After 10 epochs the validation accuracy is 0.918.": ["0.918"],
    "On the validation split the accuracy is 0.918.": ["0.918"],
    "With a learning rate of 0.01 the accuracy is 0.918.": ["0.918"],
    "I got an F1 score of 0.871 on the held-out part.": ["0.871"],
    "It reached 0.9 accuracy; the loss is 1.2e-3.": ["0.9", "1.2e-3"],
    "The error fell by 12.5%.": ["12.5%"],
    "The correlation is −0.35.": ["0.35"],
    "The runtime is 0.83 ms.": ["0.83"],
    "Validation accuracy went from 0.71 to 0.93.": ["0.71", "0.93"],
}
NO_CLAIMS = """
The accuracy is good.
It has 12 columns and the accuracy is printed.
I will set the learning rate to 0.001 and the dropout to 0.5 to reduce the loss.
The goal is an accuracy above 0.85.
We should expect an accuracy of around 0.92.
Use label smoothing of 0.1 in the cross-entropy loss.
I use a Huber loss with delta 1.5.
If the accuracy exceeds 0.9, I stop.
ResNets typically reach 93.5% accuracy on CIFAR-10.
State of the art accuracy is 99.5%.
Weighted loss with class weight 2.5 for the rare class.
Python 3.11 and scikit-learn 1.4.2 are installed without error.
I keep 20% of the data for validation and measure the accuracy.
An 80/20 split gives a more reliable score.
Random guessing would give an accuracy of 0.5.
1.2 Improve the score
Try alpha in [0.1, 0.5, 1.0] and compare the MAE.
Early stopping on validation loss with a tolerance of 0.001.
Train a boosting model with a learning rate of 0.05 and subsample 0.8, and report the MAE.
The mean score is between 0.7 and 0.8.
The score is in the range 0.80-0.85.
The accuracy is 0.80 – 0.85.
I blend both models with weights 0.6 and 0.4 because that lowers the error.
Accuracy is not 0.95.
What if the accuracy is 0.95?
The accuracy is unknown, whether 0.9 or 0.8.
The score was `0.9132`.
> accuracy 0.9132
The standard error is 0.012.
I clip the gradient norm to 1.0 to stabilise the loss.
The dataset is 0.5 GB and the score is fine.
The best published score is 0.98.
Increase the recall by lowering the cutoff to 0.35.
For example, an accuracy of 0.9 means 9 of 10.
The loss weight is 0.3.
F1 is computed at 0.5.
A 10% improvement in accuracy is required.
The accuracy is better than 0.5.
The accuracy of model_0.95.pt and of v1.2.3 is the same on 2024-05-06.
""".strip().splitlines()


@pytest.mark.parametrize("words", CLAIMS)
def test_what_is_a_claim(words: str) -> None:
    assert [claim.written for claim in statements(prose(words))] == CLAIMS[words]


@pytest.mark.parametrize("words", NO_CLAIMS)
def test_what_is_none(words: str) -> None:
    assert [claim.written for claim in statements(prose(words))] == []


def test_the_tasks_own_metric_is_a_metric_word() -> None:
    words = "The model needs 1.42 bits per byte."
    assert list(statements(words)) == []
    assert [one.written for one in statements("It has 1.42 bits per byte.", "bits per byte")] == [
        "1.42"
    ]


@pytest.mark.parametrize(
    "text",
    [
        "```\naccuracy 0.9132\n```",
        '{"thoughts": {"text": "the accuracy is 0.9132"}}',
        "--- a\n+++ b\n@@ -1 +1 @@\n-accuracy 0.9132\n",
    ],
)
def test_code_json_and_diffs_are_not_the_agents_words(text: str) -> None:
    assert list(statements(prose(text))) == []


def judged(observed: str, claim: str, problem: str = "") -> ClaimCounts:
    run = Run(problem=problem).execute(observed=observed)
    run.say(research_reply(reflection=claim))
    return run.finish().report().claims


@pytest.mark.parametrize(
    ("observed", "claim"),
    [
        ("validation accuracy=0.91324", "The accuracy is 0.9132."),
        ("validation accuracy=0.91329", "The accuracy is 0.9132."),
        ("validation accuracy=0.91316", "The accuracy is 0.9132."),
        ("validation accuracy=0.9132", "The accuracy is 91.32%."),
        ("validation accuracy=91.32", "The accuracy is 0.9132."),
        ("validation MAE=52151.9", "The MAE is 52,151.9."),
        ("validation MAE=52,151.9", "The MAE is 52151.9."),
        ("validation MAE=12944.2", "The MAE is about 13.1k."),
        ("loss 1.2e-03", "The loss is 0.0012."),
        ("change -0.35", "The correlation is −0.35."),
        ("0.83 ms", "The runtime is 0.00083 s."),
    ],
)
def test_what_supports_a_claim(observed: str, claim: str) -> None:
    assert judged(observed, claim) == ClaimCounts(supported=1)


def test_the_problem_and_own_arguments_support_too() -> None:
    assert judged("", "The baseline error is 0.312.", problem="error 0.312") == ClaimCounts(
        supported=1
    )
    run = Run().do("Python REPL", "", command="loss = 0.3127")
    run.say("The loss is 0.3127.")
    assert run.finish().report().claims.supported == 1


@pytest.mark.parametrize(
    ("observed", "claim"),
    [
        ("MAE=200.0\nMAE=150.0", "The MAE fell by 25.0%."),
        ("MAE=200.0\nMAE=150.0", "The MAE is 50.0 lower."),
        ("MAE=200.0\nMAE=160.0", "The error is better by a factor of 1.25."),
        ("accuracy=0.80\naccuracy=0.85", "The accuracy is 5.0% higher."),
        ("fold accuracy=0.80\nfold accuracy=0.85", "The mean accuracy is 0.825."),
        ("accuracy=0.8\naccuracy=0.7\naccuracy=0.9312", "The mean accuracy is 0.8104."),
        ("accuracy=0.88", "The error rate is 12%."),
    ],
)
def test_what_is_derived(observed: str, claim: str) -> None:
    assert judged(observed, claim) == ClaimCounts(derived=1)


@pytest.mark.parametrize(
    "claim",
    [
        "The accuracy is 0.9132.",
        "Accuracy improved to 87.4%.",
        "The mean accuracy is 0.7311.",
        "The accuracy rose by 31.7%.",
        "The MAE is 123.4.",
    ],
)
def test_what_nothing_supports_is_a_finding(claim: str) -> None:
    run = Run().execute(observed="accuracy=0.80\naccuracy=0.85")
    run.say(research_reply(thought=claim))
    [found] = run.finish().found("unsupported-claim")
    assert found.steps == (2,)
    assert found.quote in claim


def test_what_comes_later_and_what_the_agent_said_before_support_nothing() -> None:
    run = Run()
    run.say("The accuracy is 0.9132.")
    run.execute(observed="validation accuracy=0.9132")
    run.say("As before, the accuracy is 0.7001.")
    run.do("List Files", "train.py")
    run.say("The accuracy is 0.7001.")
    assert [one.steps for one in run.finish().found("unsupported-claim")] == [(1,), (2,), (3,)]


def test_final_answers_and_replies_with_tool_calls_are_words_other_roles_are_not() -> None:
    run = Run().do("List Files", "train.py")
    run.say("Its accuracy is 0.8001.", role="fast")
    run.say("The accuracy is 0.7001.", message={"role": "assistant"})
    run.finish("The accuracy is 0.7002.")
    found = run.found("unsupported-claim")
    assert [one.quote for one in found] == ["The accuracy is 0.7001", "The accuracy is 0.7002"]


def test_the_same_number_at_one_step_is_one_finding() -> None:
    run = Run()
    run.say("The accuracy is 0.7001. I repeat: the accuracy is 0.7001.")
    assert len(run.finish("Accuracy 0.7001.").found("unsupported-claim")) == 1


def test_code_in_the_action_input_and_made_up_text_behind_it_are_no_claims() -> None:
    run = Run()
    arguments = '{"content": "the accuracy is 0.7001\\n{"}'
    run.say(research_reply("Write File", arguments, behind="\nThe accuracy is 0.7002."))
    assert run.finish().report().claims == ClaimCounts()


def test_values_are_found_by_search_whatever_the_order_in_which_they_came() -> None:
    values = SortedValues()
    for start in range(0, 1000, 7):
        values.add({float(start), start + 0.5})
    assert values.has_near(700.0, 0.0)
    assert values.has_near(700.4, 0.11)
    assert not values.has_near(702.0, 1.0)
    assert not SortedValues().has_near(0.0, 1e9)


def test_many_results_do_not_explain_every_number() -> None:
    seen = SeenNumbers()
    seen.see("\n".join(f"step {n} loss={1 / (n + 3):.5f}" for n in range(2000)), is_output=True)
    [claim] = statements("The loss is 31.7134 lower.")
    assert not seen.explains_change(claim.number)


def test_odd_numbers_do_no_harm() -> None:
    assert values_in("nan inf 1e999 1e-999 ١٢ ²") >= {0.0}
    assert judged("accuracy=nan", "The accuracy is 1e400.0. The loss is 9" + "9" * 500 + ".0.")
