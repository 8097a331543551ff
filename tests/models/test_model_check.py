"""What keeps a model from being asked is said in one line, before anything is run."""

import os
import socket
import sys
from pathlib import Path

import pytest

from mlagentbench.errors import UsageError
from mlagentbench.models.model_check import let_have_prices, read_prices, require_model
from mlagentbench.models.model_choice import ModelChoice

PRICE = '{"input": 1, "output": 2, "input_cache_write": 1, "input_cache_read": 0.1}'


@pytest.fixture(autouse=True)
def no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in os.environ:
        if name.endswith(("_API_KEY", "_BASE_URL")):
            monkeypatch.delenv(name)


def said_of(model: str) -> str:
    with pytest.raises(UsageError) as failure:
        require_model(ModelChoice(name=model))
    said = str(failure.value)
    assert "\n" not in said
    return said


@pytest.mark.parametrize(
    ("model", "module", "package", "extra"),
    [
        ("openai/gpt-6-sol", "openai", "openai", "openai"),
        ("ollama/mixtral", "openai", "openai", "openai"),
        ("anthropic/claude-opus-5-5", "anthropic", "anthropic", "anthropic"),
        ("google/gemini-4-argon", "google.genai", "google-genai", "google"),
        ("mistral/mistral-medium-2604", "mistralai", "mistralai", "mistral"),
    ],
)
def test_a_missing_package_is_named_with_its_extra(
    monkeypatch: pytest.MonkeyPatch, model: str, module: str, package: str, extra: str
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    expected = f"model {model} needs package {package}: pip install 'mlagentbench[{extra}]'"
    assert said_of(model) == expected


def test_an_old_package_is_named_with_the_version_that_is_needed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("inspect_ai._util.version.version", lambda _: "0.9.0")
    monkeypatch.setattr("inspect_ai._util.error.version", lambda _: "0.9.0")
    said = said_of("mistral/mistral-medium-2604")
    assert (
        "needs mistralai 3.0.0 or newer (here: 0.9.0): pip install 'mlagentbench[mistral]'" in said
    )


def test_a_package_that_no_extra_of_ours_has(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "groq", None)
    assert said_of("groq/llama") == "model groq/llama needs package groq: pip install groq"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "variable"),
    [
        ("openai/gpt-6-sol", "OPENAI_API_KEY"),
        ("anthropic/claude-opus-5-5", "ANTHROPIC_API_KEY"),
        ("google/gemini-4-argon", "GOOGLE_API_KEY"),
        ("mistral/mistral-medium-2604", "MISTRAL_API_KEY"),
        ("openai-api/our-lab/mixtral", "OUR_LAB_API_KEY"),
    ],
)
def test_a_missing_key_is_named(model: str, variable: str) -> None:
    said = said_of(model)
    assert said.startswith(f"model {model}: ")
    assert f"export {variable}=..." in said


def test_a_missing_address_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OUR_LAB_API_KEY", "key")
    assert "export OUR_LAB_BASE_URL=..." in said_of("openai-api/our-lab/mixtral")


@pytest.mark.parametrize(
    ("model", "said"),
    [
        ("opnai/gpt-6-sol", "unknown provider opnai; did you mean openai?"),
        ("foo/bar", "unknown provider foo; known: anthropic, "),
        ("gpt-6-sol", "models are named PROVIDER/NAME, did you mean openai/gpt-6-sol?"),
        ("claude-opus-5-5", "did you mean anthropic/claude-opus-5-5?"),
        ("mixtral-8x7b", "did you mean mistral/mixtral-8x7b?"),
        ("smollm2", "models are named PROVIDER/NAME, e.g. openai/gpt-6-sol"),
        ("openai-api/mixtral", "must include a service prefix"),
    ],
)
def test_a_wrong_name_is_explained(model: str, said: str) -> None:
    assert said in said_of(model)


def test_a_local_server_that_is_not_there_is_not_waited_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"http://127.0.0.1:{server.getsockname()[1]}/v1"
        monkeypatch.setenv("OLLAMA_BASE_URL", address)
        require_model(ModelChoice(name="ollama/mixtral"))
    said = said_of("ollama/mixtral")
    assert f"nothing answers at {address}" in said and "start its server" in said


def test_no_model_needs_nothing() -> None:
    require_model(ModelChoice(name="none"))


def test_prices_are_read_from_json_and_yaml(tmp_path: Path) -> None:
    file = tmp_path / "prices"
    file.write_text(f'{{"openai/x": {PRICE}}}')
    assert read_prices(file, {"openai/x"})["openai/x"].output == 2
    file.write_text(f"openai/x: {PRICE}\n")
    assert read_prices(file, {"openai/x"})["openai/x"].input == 1


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (f'{{"openai/x": {PRICE}}}', "no price for a/model"),
        ("{", "neither JSON nor YAML"),
        ('{"openai/x": 3}', "openai/x"),
        ('{"openai/x": {"input": "much"}}', "openai/x.input"),
    ],
)
def test_what_is_wrong_with_prices_is_named(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "prices.json"
    file.write_text(text)
    with pytest.raises(UsageError, match=said):
        read_prices(file, {"a/model"})


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="No such file"):
        read_prices(tmp_path / "prices.json", set())


def test_models_that_inspect_does_not_know_can_have_a_price() -> None:
    from inspect_ai.model import ModelCost, get_model_info, set_model_cost

    let_have_prices(["mlagentbench/mailbox", "anthropic/claude-3-opus-20240229"])
    price = ModelCost(input=1, output=2, input_cache_write=0, input_cache_read=0)
    for name in ("mlagentbench/mailbox", "anthropic/claude-3-opus-20240229"):
        set_model_cost(name, price)
    known = get_model_info("anthropic/claude-3-opus-20240229")
    assert known is not None and known.context_length, "what Inspect knows is kept"
