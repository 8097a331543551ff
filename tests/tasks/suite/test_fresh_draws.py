"""What is incidental in generated data is drawn anew: rules fitted to one draw fail on another."""

import itertools
import re
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tabular_tasks import TaskModules

import mlagentbench.guest.mlagentbench_papers as papers_library

sys.modules.setdefault("mlagentbench_papers", papers_library)


def made(task_id: str, directory: Path, seed: int) -> Path:
    raw = directory / str(seed)
    raw.mkdir()
    TaskModules(task_id).mini.make(raw, np.random.default_rng(seed))
    return raw


def overlap(one: set, other: set) -> float:
    return len(one & other) / min(len(one), len(other))


def test_who_is_transported_is_another_matter_in_each_draw(tmp_path: Path) -> None:
    tables = [
        pd.read_csv(made("spaceship-titanic", tmp_path, seed) / "train.csv") for seed in (1, 2, 3)
    ]
    for table in tables:
        table["Side"] = table["Cabin"].str[-1]
    cells = ["HomePlanet", "CryoSleep", "Side", "Destination"]
    rule = tables[0].groupby(cells)["Transported"].mean() > 0.5

    def accuracy(table: pd.DataFrame) -> float:
        known = table.dropna(subset=cells)
        guesses = known.set_index(cells).index.map(rule.to_dict()).fillna(True).astype(bool)
        return float((guesses == known["Transported"].to_numpy()).mean())

    assert accuracy(tables[0]) > 0.65
    assert np.mean([accuracy(table) for table in tables[1:]]) < 0.57


def test_houses_are_in_other_quarters_and_worth_other_things(tmp_path: Path) -> None:
    house = TaskModules("house-price").mini
    first, second = (
        pd.read_csv(made("house-price", tmp_path, seed) / "train.csv") for seed in (1, 2)
    )
    assert overlap(set(first["Neighborhood"]), set(second["Neighborhood"])) < 0.2
    markets = [house._market(np.random.default_rng(seed)) for seed in range(20)]
    for name in ("foot", "quarter", "quality", "age", "land", "bath", "forced"):
        values = np.log([getattr(market, name) for market in markets])
        assert values.std() > 0.05, name
    assert {market.good_exposure for market in markets} == {"Gd", "Av"}


def words_by_sentiment(raw: Path) -> dict[str, float]:
    """The words that are much more frequent in reviews of the one kind, as their log odds."""
    counts = {
        name: Counter(
            word
            for file in (raw / "aclImdb" / "train" / name).glob("*.txt")
            for word in set(re.findall("[a-z]+", file.read_text().lower()))
        )
        for name in ("pos", "neg")
    }
    odds = {word: np.log((counts["pos"][word] + 1) / (counts["neg"][word] + 1))
            for word in counts["pos"] | counts["neg"]}  # fmt: skip
    return {word: value for word, value in odds.items() if abs(value) > 0.12}


def test_reviews_have_other_words_of_praise_and_blame(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mini = TaskModules("imdb").mini
    wordings = [mini.draw_wording(np.random.default_rng(seed)) for seed in range(12)]
    shared = [
        overlap({*one.praise, *one.blame}, {*other.praise, *other.blame})
        for one, other in itertools.pairwise(wordings)
    ]
    assert 0.3 < np.mean(shared) < 0.7
    assert len({tuple(sorted(one.negations)) for one in wordings}) > 5
    monkeypatch.setattr(TaskModules, "mini", mini)
    monkeypatch.setattr(mini, "TEST", 10)
    first, second = (words_by_sentiment(made("imdb", tmp_path, seed)) for seed in (1, 2))
    assert overlap(set(first), set(second)) < 0.75


def test_fields_of_papers_lie_elsewhere() -> None:
    """The nearest centre of a field, as learnt from one draw, is of no use in another."""
    mini = TaskModules("ogbn-arxiv").mini
    draws = []
    for seed in (1, 2):
        rng = np.random.default_rng(seed)
        years, classes = mini.draw_years(rng), mini.draw_classes(rng)
        areas = rng.permutation(np.arange(mini.CLASSES) % mini.AREAS)
        draws.append((classes, mini.draw_features(classes, areas, years, rng)))
    classes, features = draws[0]
    centres = np.stack([features[classes == n].mean(axis=0) for n in range(mini.CLASSES)])
    found = [
        (np.square(x[:, None] - centres).sum(axis=2).argmin(axis=1) == y).mean() for y, x in draws
    ]
    assert found[0] > 0.25
    assert found[1] < 0.06


def test_classes_of_pictures_change_their_numbers_and_looks() -> None:
    looks = [TaskModules("cifar10").mini.draw_look(np.random.default_rng(n)) for n in range(12)]
    same = [
        np.mean([a == b for a, b in zip(one.classes, other.classes, strict=True)])
        for one, other in itertools.pairwise(looks)
    ]
    assert np.mean(same) < 0.25
    assert {look.corners for look in looks} == {3, 4}
    assert len({look.hole for look in looks}) == 12


def test_animals_have_other_forms_colours_and_numbers() -> None:
    mini = TaskModules("fathomnet").mini
    draws = [mini.draw_kinds(np.random.default_rng(seed)) for seed in range(12)]
    assert {len(kinds) for kinds in draws} == {60}
    names = [[(kind.form, kind.colour) for kind in kinds] for kinds in draws]
    pairs = list(itertools.pairwise(names))
    assert np.mean([a == b for one, other in pairs for a, b in zip(one, other, strict=True)]) < 0.05
    assert np.mean([overlap(set(one), set(other)) for one, other in pairs]) < 0.7
    logarithms = np.log(np.array([kind.pigment for kinds in draws for kind in kinds]))
    assert np.isfinite(logarithms).all()


def test_skies_differ_in_warmth_and_in_the_difference_of_bands() -> None:
    mini = TaskModules("identify-contrails").mini
    skies = np.array([mini.draw_sky(np.random.default_rng(seed)) for seed in range(20)])
    assert (skies.std(axis=0) > 0.02 * abs(skies.mean(axis=0)) / 3).all()
    names = mini.Sky._fields
    assert skies[:, names.index("band_15")].std() > 0.25, "a fixed threshold would fit all"


def test_essays_are_written_with_other_words() -> None:
    mini = TaskModules("feedback").mini
    wordings = [mini.draw_wording(np.random.default_rng(seed)) for seed in range(12)]
    for words in (
        lambda one: set(one.adjectives),
        lambda one: set(one.pairs),
        lambda one: {noun for nouns in one.topics for noun in nouns},
        lambda one: {word for finer in one.finer.values() for word in finer},
    ):
        shared = [overlap(words(one), words(other)) for one, other in itertools.pairwise(wordings)]
        assert np.mean(shared) < 0.7


def test_languages_have_other_words_endings_and_habits() -> None:
    mini = TaskModules("babylm").mini
    languages = [mini.Language(np.random.default_rng(seed)) for seed in range(4)]
    nouns = [set(language.words["noun"]) for language in languages]
    assert max(overlap(one, other) for one, other in itertools.pairwise(nouns)) < 0.2
    assert len({language.endings["verb"] for language in languages}) > 2
    assert len({language.habits["object"] for language in languages}) == 4


def test_patients_have_other_numbers_and_proteins_tell_other_things(tmp_path: Path) -> None:
    raws = [made("parkinsons-disease", tmp_path, seed) for seed in (1, 2)]
    clinical = [pd.read_csv(raw / "train_clinical_data.csv") for raw in raws]
    assert overlap(*(set(table["patient_id"]) for table in clinical)) < 0.1
    proteins = [set(pd.read_csv(raw / "train_proteins.csv")["UniProt"]) for raw in raws]
    assert overlap(*proteins) < 0.1
    courses = [TaskModules("parkinsons-disease").mini.draw_course(np.random.default_rng(seed))
               for seed in (1, 2)]  # fmt: skip
    assert (courses[0].levels[True] != courses[1].levels[True]).all()


def test_papers_are_about_other_things_in_other_words(tmp_path: Path) -> None:
    literatures = [papers_library.Literature(seed, hidden=True) for seed in range(6)]
    asked = [{c.wordings[0] for c in (*one.aspects, *one.objects)} for one in literatures]
    shared = [overlap(one, other) for one, other in itertools.pairwise(asked)]
    assert np.mean(shared) < 0.45
    names = [set(one.datasets) for one in literatures]
    assert max(overlap(one, other) for one, other in itertools.pairwise(names)) < 0.05


def test_checkpoints_and_texts_of_llama_inference_differ(tmp_path: Path) -> None:
    first, second = (made("llama-inference", tmp_path, seed) for seed in (1, 2))
    for name in ("model.safetensors", "tokenizer.json", "wikitext-2-raw/wiki.test.raw"):
        assert (first / name).read_bytes() != (second / name).read_bytes()
