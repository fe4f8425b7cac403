"""Self-training as a run does it, on six articles in two languages and an encoder of one branch."""

import json
import shutil
from contextlib import contextmanager
from pathlib import Path

import keras
import numpy as np
import pytest
from fixtures.encoders import make_tiny

from distill.encoders.encoder import KerasEncoder
from distill.errors import ConfigError, DataError, InputError
from distill.jobs.pipeline.preparing import read_inputs
from distill.jobs.pipeline.run import Run
from distill.jobs.pipeline.self_training import Stage, self_train
from distill.settings.sections import Settings
from distill.settings.store import change_settings
from distill.system.input_files import read_json, read_jsonl
from distill.training.stages.student_job import TeacherJob

FILES = ["encoder", "mined.jsonl", "stage.json", "statistics.json"]
VALUES = {
    "data.languages": ["de"],
    "teacher.loss": "softmax",
    "teacher.batch_size": 4,
    "teacher.bm25_epochs": 0,
    "teacher.online_epochs": 1,
    "teacher.learning_rate": 1e-2,
    "pairs.batches": "x-y",
    "pairs.self_train": 1,
    "pairs.self_train_top": 6,
    "pairs.self_train_negatives": [4, 1],
}


@pytest.fixture(scope="module")
def base(tokenizer):
    return make_tiny(tokenizer, seed=4, orders=(2,))


@pytest.fixture(scope="module")
def settings(sentence_data):
    return change_settings(Settings(), {"data.dataset": str(sentence_data), **VALUES})


class Left:
    """A folder in which self-training came to its end, what it gave, and what it wrote."""

    def __init__(self, settings, base, folder):
        self.run = Run(read_inputs(settings), folder)
        self.encoder = self_train(self.run, base)
        self.stages = folder / "self-training"
        self.told = self.run.figures["self_training"]


@pytest.fixture(scope="module")
def left(settings, base, tmp_path_factory):
    return Left(settings, base, tmp_path_factory.mktemp("run"))


@pytest.fixture
def improving(monkeypatch):
    """Dev scores that are given, one a stage, in place of the real ones, so that it is known which is best."""

    def make(*scores):
        monkeypatch.setattr(Stage, "score", property(lambda stage: (scores[stage.number], 0.0)))

    return make


@pytest.fixture
def interrupted(monkeypatch):
    """Make the training of a stage stop, as Ctrl-C does it, when its pairs are mined; as a context for a while."""
    train = TeacherJob.train

    @contextmanager
    def make(number):
        def stop(job, base, session):
            if session.stage.endswith(str(number)):
                raise KeyboardInterrupt
            return train(job, base, session)

        with monkeypatch.context() as patch:
            patch.setattr(TeacherJob, "train", stop)
            yield

    return make


def same(*encoders):
    return all(np.array_equal(a, b) for a, b in zip(*(one.model.get_weights() for one in encoders), strict=True))


def test_the_first_stage_mines_by_bm25(left):
    lines = {(row["id"], row["language"]): row for _, row in read_jsonl(left.stages / "stage-0" / "mined.jsonl")}
    # Eight train questions in two languages.
    assert len(lines) == 16
    german = lines["river-1", "de"]
    # "Wie alt ist river 1?": BM25 finds the other rivers' passage, whose answer is 100, and those that say "ist", of
    # which the ones of part 1 hold "101".
    assert [row for row in german["positives"] if row["gold"]] == [
        {"passage": "0-1", "language": "en", "gold": True},
        {"passage": "0-1", "language": "de", "gold": True},
    ]
    assert {row["passage"][-1] for row in german["positives"]} == {"1"}
    assert {row["language"] for row in german["positives"] if not row["gold"]} <= {"de"}
    assert {"passage": "0-0", "language": "de"} in german["negatives"]
    assert all(row["passage"].endswith("-0") and row["language"] == "de" for row in german["negatives"])


def test_later_stages_mine_by_the_last_encoder(left):
    encoder, run = KerasEncoder.load(left.stages / "stage-0" / "encoder"), left.run
    pairs = run.inputs.pairs
    scores = encoder.encode([q.text for q in pairs.questions]) @ encoder.encode(list(pairs.passages)).T
    for row, (_, line) in enumerate(read_jsonl(left.stages / "stage-1" / "mined.jsonl")):
        top = np.argsort(-scores[row], kind="stable")[:6]
        named = {(f"{pairs.content[p] // 2}-{pairs.content[p] % 2}", str(pairs.languages[p])) for p in top}
        part = line["id"][-1]
        positives = {(p["passage"], p["language"]) for p in line["positives"] if not p["gold"]}
        gold = {(p["passage"], p["language"]) for p in line["positives"] if p["gold"]}
        assert positives == {name for name in named if name[0].endswith(part)} - gold


def test_each_stage_is_told_in_files_log_and_metrics_and_the_best_is_kept(left):
    for number, told in enumerate(left.told["stages"]):
        folder = left.stages / f"stage-{number}"
        assert sorted(path.name for path in folder.iterdir()) == FILES
        assert told["stage"] == number and told["mined"] == read_json(folder / "statistics.json")
        rows = left.run.log.of(f"self-training stage {number}")
        assert len(rows) == 2
        best = max((row["p@1"], row["mrr@10"]) for row in rows)
        assert (told["dev"]["p@1"], told["dev"]["mrr@10"]) == best
        row = rows[told["dev"]["epoch"]]
        assert told["dev"] == {name: row[name] for name in ("epoch", "p@1", "mrr@10")}
        assert left.run.log.of("self-training")[number]["dev"] == told["dev"]
    json.dumps(left.told)
    scores = [(row["dev"]["p@1"], row["dev"]["mrr@10"]) for row in left.told["stages"]]
    kept = left.told["kept"]
    # The first of equals.
    assert kept == scores.index(max(scores)) and [row["kept"] for row in left.told["stages"]] == [kept == 0, kept == 1]
    assert same(left.encoder, KerasEncoder.load(left.stages / f"stage-{kept}" / "encoder"))
    assert left.encoder.name == "teacher"


def test_each_stage_keeps_as_many_negatives_as_are_named_for_it(left):
    mined = [list(read_jsonl(left.stages / f"stage-{number}" / "mined.jsonl")) for number in (0, 1)]
    # No question has more than three without its answer among the six that BM25 looks at.
    assert [max(len(line["negatives"]) for _, line in lines) for lines in mined] == [3, 1]


@pytest.mark.parametrize(
    "second, always, goes_on", [(0.4, 0, True), (0.3, 0, False), (0.2, 0, False), (0.2, 1, False), (0.2, 2, True)]
)
def test_only_a_stage_that_is_better_is_followed_by_another_but_for_those_that_are_always_trained(
    settings, base, left, tmp_path, improving, interrupted, second, always, goes_on
):
    improving(0.3, second)
    shutil.copytree(left.stages, tmp_path / "self-training")
    values = {"pairs.self_train": 2, "pairs.self_train_always": always}
    run = Run(read_inputs(change_settings(settings, values)), tmp_path)
    if goes_on:
        with interrupted(2), pytest.raises(KeyboardInterrupt):
            self_train(run, base)
        return
    teacher = self_train(run, base)
    assert [(row["stage"], row["kept"]) for row in run.figures["self_training"]["stages"]] == [(0, True), (1, False)]
    assert same(teacher, KerasEncoder.load(left.stages / "stage-0" / "encoder"))


def test_a_run_that_was_stopped_goes_on_to_the_same_encoder(settings, base, left, tmp_path, interrupted):
    stages = tmp_path / "self-training"
    shutil.copytree(left.stages / "stage-0", stages / "stage-0")
    with interrupted(1), pytest.raises(KeyboardInterrupt):
        self_train(Run(read_inputs(settings), tmp_path), base)
    assert (stages / "stage-1" / "mined.jsonl").is_file() and not (stages / "stage-1" / "stage.json").exists()
    (stages / "stage-1" / ".encoder.12345678").mkdir()
    before = {path: path.stat().st_mtime_ns for path in stages.glob("stage-0/**/*")}
    run = Run(read_inputs(settings), tmp_path)
    # As after another command: other draws were made.
    keras.utils.set_random_seed(99)
    assert same(self_train(run, base), left.encoder)
    assert before == {path: path.stat().st_mtime_ns for path in stages.glob("stage-0/**/*")}
    assert [row["stage"] for row in run.log.of("self-training")] == [1]
    assert run.figures["self_training"] == left.told
    first, second = (KerasEncoder.load(folder / "stage-1" / "encoder") for folder in (left.stages, stages))
    assert same(first, second)
    assert not same(first, KerasEncoder.load(stages / "stage-0" / "encoder"))
    assert sorted(path.name for path in (stages / "stage-1").iterdir()) == FILES
    for name in ("mined.jsonl", "stage.json"):
        assert (stages / "stage-1" / name).read_bytes() == (left.stages / "stage-1" / name).read_bytes()


def test_stages_of_other_data_are_refused(settings, base, left, tmp_path):
    folder = tmp_path / "self-training" / "stage-0"
    folder.mkdir(parents=True)
    result = read_json(left.stages / "stage-0" / "stage.json")
    result["files"]["de.json"] = "0" * 64
    (folder / "stage.json").write_text(json.dumps(result), encoding="utf-8")
    with pytest.raises(InputError, match=r"stage-0 .*\(de.json\)"):
        self_train(Run(read_inputs(settings), tmp_path), base)


@pytest.mark.parametrize(
    "values, said", [({"teacher.loss": "triplet"}, "--loss softmax"), ({"teacher.model": "e5"}, "fixed")]
)
def test_it_needs_pairs_and_a_teacher_that_is_trained(settings, values, said):
    with pytest.raises(ConfigError, match=said):
        change_settings(settings, values)


def test_data_without_answers_is_refused_before_anything_is_written(settings, unanswered, tmp_path):
    with pytest.raises(DataError, match=unanswered.name):
        read_inputs(change_settings(settings, {"data.dataset": str(unanswered), "pairs.batches": "x-en"}))
    assert list(tmp_path.iterdir()) == []


def test_a_teacher_alone_keeps_no_stages(distill, tmp_path, capsys):
    arguments = ["--loss", "softmax", "--set", "pairs.self_train=1"]
    assert distill("teach", *arguments, "--output", tmp_path / "teacher") == 2
    assert "distill run" in capsys.readouterr().err
    assert list(Path(tmp_path).iterdir()) == []
