import errno
import hashlib
import html
import json
import shutil
from dataclasses import replace
from functools import reduce

import keras
import numpy as np
import pytest

from distill.data.loading import load_dataset
from distill.data.pool_readers import load_pool
from distill.encoders.catalog.loading import load_encoder
from distill.encoders.encoder import KerasEncoder
from distill.encoders.tokenizer import model_proto
from distill.errors import DataError, InputError, TrainingError
from distill.jobs.pipeline import shipping
from distill.jobs.pipeline.execute import begin_run, finish_on_tensorflow
from distill.jobs.pipeline.inputs import Inputs
from distill.jobs.pipeline.preparing import choose_languages, find_unseen_languages, prepare
from distill.jobs.pipeline.run import Run
from distill.papers.bias.lareqa import encode_pool, mean_average_precision
from distill.settings.sections import Settings, TranslationSettings
from distill.settings.store import load_settings
from distill.system.input_files import read_json

SMALL = [
    *("--bm25-epochs", "1", "--online-epochs", "1", "--epochs", "1"),
    *("--set", "export.min_cosine=0.9", "--max-drop", "100"),
]


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    return tmp_path_factory.mktemp("runs")


@pytest.fixture(scope="module")
def folder(distill, plain, tiny_folder, sample_folder, runs):
    """What the whole job leaves."""
    flags = ["--config", plain, "--dataset", sample_folder, "--languages", "de,ru", "--base", tiny_folder]
    assert distill("run", *flags, *SMALL, "--runs", runs, "--name", "first") == 0
    return runs / "first"


@pytest.fixture(scope="module")
def metrics(folder):
    return read_json(folder / "metrics.json")


def p_at_1(encoder, dataset, language, split):
    """Of one vector a document, by NumPy alone; a tie counts against."""
    questions = [dataset.questions[language][id] for id in dataset.splits[split]]
    texts = [" ".join(p.text for p in dataset.passages if p.document == d) for d in range(len(dataset.titles))]
    scores = encoder.encode([q.text for q in questions]) @ encoder.encode(texts, "document").T
    gold = np.array([dataset.passages[q.passage].document for q in questions])
    return np.mean((scores >= scores[np.arange(len(gold)), gold][:, None]).sum(axis=1) == 1)


def test_a_run_leaves_all_it_made_and_tells_of_it(folder, runs, tiny_folder):
    files = ["bundle", "config.toml", "log.jsonl", "metrics.json", "report.html", "student", "teacher"]
    assert sorted(path.name for path in folder.iterdir()) == files
    assert [path.name for path in runs.iterdir()] == ["first"]
    assert "<svg" in (folder / "report.html").read_text(encoding="utf-8")
    texts = ["Where does the Danube end?"]
    base, teacher, student = (load_encoder(path).encode(texts) for path in (tiny_folder, folder / "teacher", folder))
    rows = [json.loads(line) for line in (folder / "log.jsonl").read_text(encoding="utf-8").splitlines()]
    events = [(row["event"], row.get("encoder", row.get("step"))) for row in rows]
    stages = [name for number, (name, _) in enumerate(events) if number == 0 or events[number - 1][0] != name]
    assert stages == ["data", "evaluation", "teacher", "evaluation", "student", "evaluation", "done"]
    assert [row["seconds"] for row in rows] == sorted(row["seconds"] for row in rows)
    # Before the first step, and after each epoch: two of the teacher's and one of the student's.
    first, second = ([row for row in rows if row["event"] == name] for name in ("teacher", "student"))
    assert [row.get("negatives") for row in first] == [None, "BM25", "online"] and len(second) == 2
    assert first[1]["triplets"] > 0 and sum(second[1]["terms"].values()) == pytest.approx(second[1]["loss"])
    for stage, start, best in (("teacher", base, teacher), ("student", teacher, student)):
        scores = [(row["p@1"], row["mrr@10"]) for row in rows if row["event"] == stage]
        assert (np.abs(start - best).max() > 1e-4) == (scores[0] != max(scores))
    card = read_json(folder / "bundle" / "card.json")
    expected = {"name": "bundle", "source": "first", "dataset": "sample", "teacher": "en", "seed": 0}
    assert {key: card[key] for key in expected} == expected and card["languages"] == ["en", "de", "ru"]
    # Card, its page, the metrics and the report say the same of what was learned from. Splits are by question.
    learned = read_json(folder / "metrics.json")["learned"]
    assert learned.pop("files") == {} and learned["learned_from"] == "the train questions of sample in en, de, ru"
    assert learned["chosen_by"] == "dev chose the teacher's epoch and the student's epoch"
    assert learned["seen_of_test"].startswith("no question; asked about in train too: ")
    pages = [(folder / name).read_text(encoding="utf-8") for name in ("bundle/README.md", "report.html")]
    assert {key: card[key] for key in learned} == learned
    assert all(phrase in html.unescape(page) for phrase in learned.values() for page in pages)


def test_the_metrics_compare_four_encoders_on_dev_and_test_and_name_data_versions_and_times(
    metrics, sample, sample_folder
):
    assert list(metrics["splits"]) == ["dev", "test"]
    for split in metrics["splits"].values():
        assert list(split["encoders"]) == list(split["mean_p@1"]) == ["base", "teacher", "student", "bundle"]
        for units in split["encoders"].values():
            assert list(units) == ["document", "passage", "maxp"]
            assert all(list(by_language) == ["en", "de", "ru"] for by_language in units.values())
    assert metrics["mean_over"] == ["de", "ru"]
    for split in metrics["splits"].values():
        for name, units in split["encoders"].items():
            for unit, figures in units.items():
                expected = (figures["de"]["p@1"] + figures["ru"]["p@1"]) / 2
                assert split["mean_p@1"][name][unit] == pytest.approx(expected)
        tests = ["student against base", "student against teacher", "bundle against student", "teacher against base"]
        assert list(split["mcnemar"]) == tests and list(split["sign_flips"]) == [tests[0], tests[2]]
        pooled = split["sign_flips"]["bundle against student"]["maxp"]
        figures = [split["encoders"][name]["maxp"] for name in ("bundle", "student")]
        expected = np.mean([figures[0][one]["p@1"] - figures[1][one]["p@1"] for one in ("en", "de", "ru")])
        assert pooled["difference"] == pytest.approx(expected) and pooled["low"] <= expected <= pooled["high"]
        rows = split["mcnemar"]["student against base"]["maxp"]
        assert rows["de"]["a"] == split["encoders"]["student"]["maxp"]["de"]["p@1"]
        assert rows["de"]["b"] == split["encoders"]["base"]["maxp"]["de"]["p@1"]
        flips = split["sign_flips"]["student against base"]["maxp"]
        # As many questions a language: all together are the mean of languages.
        assert flips["a"] == pytest.approx(np.mean([rows[language]["a"] for language in ("en", "de", "ru")]))
        assert flips["questions"] == 3 * flips["clusters"] and 0 < flips["p"] <= 1
    names, splits = ("documents.jsonl", "questions.jsonl"), {split: len(ids) for split, ids in sample.splits.items()}
    files = {name: hashlib.sha256((sample_folder / name).read_bytes()).hexdigest() for name in names}
    sizes = {"documents": 48, "passages": len(sample.passages), "splits": splits}
    assert metrics["dataset"] == {"name": "sample", **sizes, "files": files}
    assert metrics["versions"]["keras"] == keras.__version__
    assert metrics["versions"]["keras backend"] == keras.backend.backend()
    named = {"load base", "teacher", "student", "export", "calibrate", "query"}
    assert named | {f"evaluate {name}" for name in ("base", "teacher", "student", "bundle")} == set(metrics["timings"])


def test_the_metrics_have_the_questions_that_student_and_bundle_won_and_lost(metrics):
    chosen = metrics["examples"]
    assert (chosen["split"], chosen["unit"]) == ("test", "document")
    rows = metrics["splits"]["test"]["mcnemar"]["student against base"]["document"].values()
    for kind, count in (("won", "only_a"), ("lost", "only_b")):
        assert chosen[f"questions_{kind}"] <= sum(row[count] for row in rows)
        assert len(chosen[kind]) == min(6, chosen[f"questions_{kind}"])


def test_what_the_log_warns_of_stands_in_the_metrics(metrics, sample, tmp_path, monkeypatch):
    run = Run(Inputs(sample, ("en",)), tmp_path)
    run.log.write("teacher", step=3, **{"p@1": 0.1, "mrr@10": 0.2, "collapsed": 0.995})
    monkeypatch.setattr(shipping, "write_report", lambda *arguments: None)
    shipping.write_results(run, None)
    [warning] = read_json(tmp_path / "metrics.json")["warnings"]
    assert warning.startswith("teacher: ") and " step 3: " in warning
    assert "warnings" not in metrics


@pytest.mark.parametrize("name", ["base", "teacher", "student", "bundle"])
def test_a_figure_is_of_the_encoder_that_is_named(name, metrics, folder, tiny_folder, sample):
    encoder = load_encoder(tiny_folder if name == "base" else folder / name)
    figures = metrics["splits"]["test"]["encoders"][name]["document"]
    for language in ("en", "de", "ru"):
        assert figures[language]["p@1"] == pytest.approx(p_at_1(encoder, sample, language, "test"))


def test_the_bundle_is_weighed_checked_and_timed(metrics, folder, sample):
    assert metrics["bundle_bytes"] == sum(path.stat().st_size for path in (folder / "bundle").iterdir())
    assert metrics["gate"] == read_json(folder / "bundle" / "card.json")["dev"]
    assert metrics["gate"]["texts"] == 3 * len(sample.splits["dev"]) and metrics["gate"]["other_ids"] == 0
    assert metrics["gate"]["cosine_min"] >= 0.9
    dev = metrics["splits"]["dev"]["encoders"]
    for language in ("en", "de", "ru"):
        row = metrics["gate"]["p@1"][language]
        assert row["student"] == dev["student"]["document"][language]["p@1"]
        assert row["artefact"] == dev["bundle"]["document"][language]["p@1"]
    query = metrics["timings"]["query"]
    assert query["queries"] == 3 * len(sample.splits["dev"]) and query["threads"] == 1
    assert 0 < query["median_ms"] <= query["p95_ms"] <= query["p99_ms"]
    assert query["mean_ms"] > 0 and query["std_ms"] > 0 and query["cold_start_s"] > 0
    assert list(query["languages"]) == ["en", "de", "ru"] and "tensorflow" not in query["versions"]


def test_a_bundle_may_be_exported_again_from_its_run(distill, folder, sample_folder, tmp_path):
    lenient = [
        "--dataset",
        sample_folder,
        "--languages",
        "en,de,ru",
        "--max-drop",
        "100",
        "--set",
        "export.min_cosine=0.9",
    ]
    assert distill("export", folder, *lenient, "--output", tmp_path / "again") == 0
    first, again = read_json(folder / "bundle" / "card.json"), read_json(tmp_path / "again" / "card.json")
    assert again["source"] == "first"
    same = ("languages", "files", "dev", "dataset", "teacher", "seed", "precision", "dimension")
    assert {key: again[key] for key in same} == {key: first[key] for key in same}


def test_a_bundle_that_is_there_is_judged_by_the_gate_that_is_asked_for_now(distill, folder, tmp_path, capsys):
    again = shutil.copytree(folder, tmp_path / "run")
    (again / "metrics.json").unlink()
    assert distill("run", "--resume", again, "--set", "export.min_cosine=0.9999999") == 1
    assert "cosine" in capsys.readouterr().err
    assert not (again / "metrics.json").exists()


def test_a_run_that_another_process_finished_meanwhile_is_left_as_it_is(folder, tmp_path):
    again = shutil.copytree(folder, tmp_path / "run")
    (again / "metrics.json").unlink()
    run = prepare(load_settings(again / "config.toml"), again, resume=True)
    shutil.copyfile(folder / "metrics.json", again / "metrics.json")
    before = {path: path.read_bytes() for path in again.rglob("*") if path.is_file()}
    with pytest.raises(InputError, match=str(again)):
        begin_run(run)
    assert {path: path.read_bytes() for path in again.rglob("*") if path.is_file()} == before


def test_a_process_on_tensorflow_ends_a_run_and_what_it_says_is_the_error(metrics, folder, tmp_path, monkeypatch):
    monkeypatch.setenv("KERAS_BACKEND", "jax")
    with pytest.raises(TrainingError, match="nowhere: ") as failed:
        finish_on_tensorflow(tmp_path / "nowhere")
    assert "\n" not in str(failed.value)
    shutil.copytree(folder, tmp_path / "first")
    (tmp_path / "first" / "metrics.json").unlink()
    ended = finish_on_tensorflow(tmp_path / "first")
    assert [ended[name] for name in ("splits", "settings", "device")] == [
        metrics[name] for name in ("splits", "settings", "device")
    ]


def test_what_a_run_left_that_was_killed_at_once_is_no_run(folder, tmp_path):
    for name in (".lock", ".config.toml.0123abcd.aside"):
        (tmp_path / name).write_text("", encoding="utf-8")
    run = prepare(load_settings(folder / "config.toml"), tmp_path)
    begin_run(run)
    run.log.close()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["checkpoint", "config.toml", "log.jsonl"]


def test_a_full_disk_does_not_hide_what_ended_a_stage(folder, tmp_path, monkeypatch):
    run = prepare(load_settings(folder / "config.toml"), tmp_path)
    begin_run(run)

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("distill.system.files.write_json", full)
    with pytest.raises(KeyboardInterrupt), run.timed("teacher"):
        raise KeyboardInterrupt
    run.log.close()
    assert run.timings["teacher"] >= 0


@pytest.fixture
def settings_for(sample_folder):
    def build(teacher="en", languages=(), dataset=sample_folder):
        settings = Settings()
        settings.teacher.language, settings.data.languages, settings.data.dataset = teacher, languages, str(dataset)
        return settings

    return build


def test_preparing_writes_nothing_and_what_lies_in_a_runs_place_is_not_overwritten(settings_for, tmp_path):
    run = prepare(settings_for(languages=("de",)), tmp_path / "runs" / "new")
    assert (run.languages, run.folder) == (("en", "de"), tmp_path / "runs" / "new")
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "old").mkdir()
    for path in (tmp_path / "old" / "metrics.json", tmp_path / "file"):
        path.write_text("{}", encoding="utf-8")
    for name in ("old", "file"):
        with pytest.raises(InputError, match=f"{name} .*--name"):
            prepare(settings_for(), tmp_path / name)


@pytest.mark.parametrize(
    ("setting", "value", "place"),
    [
        ("data.dataset", "nowhere", "nowhere"),
        ("student.losses.qq", -1.0, r"student\.losses\.qq"),
        ("student.parallel", ("nowhere.tsv",), "nowhere.tsv"),
        ("teacher.triplets", ("nowhere.jsonl",), "nowhere.jsonl"),
        ("vocabulary.text", ("nowhere.txt",), "nowhere.txt"),
        ("evaluation.peers", ("student",), "--peers: student"),
        ("vocabulary.add_languages", ("xx",), "--add-languages: .* xx; "),
        ("vocabulary.add_languages", ("el",), "--add-languages: .* el; .*--text"),
    ],
)
def test_what_cannot_be_is_refused_before_the_work(settings_for, tmp_path, setting, value, place):
    settings = settings_for()
    *sections, name = setting.split(".")
    setattr(reduce(getattr, sections, settings), name, value)
    with pytest.raises(InputError, match=place):
        prepare(settings, tmp_path / "run")
    assert list(tmp_path.iterdir()) == []


def test_the_teachers_language_comes_first_and_once_and_all_by_default(sample):
    def chosen(*names):
        return choose_languages(sample, *names, TranslationSettings())

    assert chosen("ru", ("ru", "en", "de")) == ("ru", "de", "en")
    assert chosen("ru", ("de",)) == ("ru", "de")
    assert chosen("hi", ()) == ("hi", "ar", "de", "el", "en", "es", "ru", "th", "vi", "zh")
    for names in (("xx", ()), ("en", ("de", "xx"))):
        with pytest.raises(DataError, match=" xx: "):
            chosen(*names)
    assert find_unseen_languages("muse", ("en", "el", "de", "hi")) == ["el", "hi"]
    assert find_unseen_languages("path/to/encoder", ("en", "el")) == []
    assert (
        find_unseen_languages("multi12-ngram", ("en", "el", "fi"))
        == find_unseen_languages("multi12-static", ("fi",))
        == ["fi"]
    )


def test_the_mean_is_over_the_teachers_language_when_it_is_alone_and_no_sealed_split(sample, settings_for):
    assert Inputs(sample, ("en",)).other_languages == ("en",)
    assert Inputs(sample, ("en", "de")).other_languages == ("de",)
    sealed = replace(sample, splits={name: sample.splits[name] for name in ("train", "dev")})
    assert Inputs(sealed, ("en",)).splits == ["dev"]


@pytest.fixture(scope="module")
def answered(sentence_data, tmp_path_factory):
    """Data with sentence boundaries, asked about in Greek too."""
    folder = shutil.copytree(sentence_data, tmp_path_factory.mktemp("data") / "answered")
    german = (folder / "de.json").read_text(encoding="utf-8")
    (folder / "el.json").write_text(german.replace("Wie alt ist", "Πόσων ετών είναι"), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def grown(distill, plain, slim_folder, tiny_folder, answered, tmp_path_factory):
    """A run with pairs for its teacher, whose student is static, has pieces for Greek, and saw parallel text too.

    Language bias is measured, and a peer beside it.
    """
    runs = tmp_path_factory.mktemp("grown")
    rows = [("en", "el", "de")] + [(f"The river {n}", f"Το ποτάμι {n}", f"Der Fluss {n}") for n in range(40)]
    (runs / "lines.tsv").write_text("\n".join("\t".join(row) for row in rows), encoding="utf-8")
    pairs = [("question", "passage")] + [(f"Which river is {n}?", f"River {n} is one.") for n in range(60)]
    (runs / "pairs.tsv").write_text("\n".join("\t".join(row) for row in pairs), encoding="utf-8")
    (runs / "el.tsv").write_text("κάτω ποτάμι\t0.01\n", encoding="utf-8")
    flags = ["--config", plain, "--dataset", answered, "--base", slim_folder, "--peers", tiny_folder]
    flags += ["--parallel", f"{runs / 'lines.tsv'}=2", "--aligner", slim_folder, "--add-languages", "el", "--static"]
    flags += ["--triplets", f"{runs / 'pairs.tsv'}=3", "--objectives", "qq,dd,dq,list"]
    settings = [
        *(f"vocabulary.add_words={runs / 'el.tsv'}", "vocabulary.keep=used", "vocabulary.add_pieces=200"),
        *("teacher.triplets_an_epoch=40", "teacher.positives=maxp", "shape.rank=6", "shape.hidden=5"),
        *("student.trained_weights=new-rows", "student.lines_a_step=8", "export.min_cosine=0.5"),
    ]
    sets = [part for setting in settings for part in ("--set", setting)]
    assert distill("run", *flags, *SMALL, *sets, "--runs", runs, "--name", "run") == 0
    return runs / "run"


@pytest.fixture(scope="module")
def measured(grown):
    return read_json(grown / "metrics.json")


def test_a_peer_is_measured_beside_and_recorded_with_the_languages_that_it_knows(
    measured, tiny_encoder, answered, tiny_folder
):
    peer, dataset = str(tiny_folder), load_dataset(answered)
    assert measured["peers"] == {peer: {"languages": ["en", "de", "el"]}}
    encoders = measured["splits"]["dev"]["encoders"]
    assert list(encoders) == [peer, "base", "teacher", "student", "bundle"]
    for language in ("en", "de"):
        expected = p_at_1(tiny_encoder, dataset, language, "dev")
        assert encoders[peer]["document"][language]["p@1"] == pytest.approx(expected)


def test_data_with_sentences_is_measured_for_language_bias(measured, slim, answered, tiny_folder):
    bias, languages = measured["lareqa"], ["de", "el", "en"]
    assert (bias["split"], bias["languages"]) == ("dev", languages)
    assert bias["questions"] == dict.fromkeys(languages, 4) and bias["candidates"] == dict.fromkeys(languages, 36)
    assert list(bias["encoders"]) == [str(tiny_folder), "base", "teacher", "student", "bundle"]
    pool = load_pool(answered, languages, "dev")
    expected = mean_average_precision(*encode_pool(slim, pool), pool).languages
    assert bias["encoders"]["base"]["languages"] == pytest.approx(expected, abs=1e-6)


def test_language_bias_is_of_data_with_sentences_and_can_be_left_out(
    settings_for, sentence_data, tmp_path, monkeypatch
):
    settings = settings_for(dataset=sentence_data)
    run = prepare(settings, tmp_path / "run")
    assert run.inputs.pool.languages == ("de", "en")
    # As where the papers are not installed.
    with monkeypatch.context() as patch:
        patch.setattr("distill.jobs.pipeline.run.find_guest", lambda module: None)
        assert run.measure_bias("base", None) is None
    settings.evaluation.lareqa = False
    assert prepare(settings, tmp_path / "run").inputs.pool is None
    # An empty folder is taken.
    assert prepare(settings_for(), tmp_path).inputs.pool is None


def test_a_student_has_the_pieces_and_the_shape_and_its_teacher_the_pairs_that_were_asked_for(grown, slim_folder):
    student, base = KerasEncoder.load(grown / "student"), KerasEncoder.load(slim_folder)
    assert type(student.model).__name__ == "StaticEncoder" and student.model.width == 6
    after, before = model_proto(student.tokenizer), model_proto(base.tokenizer)
    pieces = {piece.piece for piece in after.pieces}
    new = pieces - {piece.piece for piece in before.pieces}
    # Of the text, and of the words that were given.
    assert "▁κάτω▁ποτάμι" in new and len(new) > 1
    assert len(pieces & {piece.piece for piece in before.pieces}) < len(before.pieces)
    rows = [json.loads(line) for line in (grown / "log.jsonl").read_text(encoding="utf-8").splitlines()]
    steps = [row["step"] for row in rows if row["event"] == "teacher"]
    # Eight questions and 40 pairs in batches of 16; of the second epoch some may lack a negative.
    assert steps[:2] == [0, 3] and len(steps) == 3
