import pytest

from distill.errors import InputError
from distill.evaluation.tasks.task import TaskOptions
from distill.jobs.measuring import compare_models, measure_models
from distill.settings.sections import DataSettings


def test_rankings_of_a_task_without_them_are_refused_before_an_encoder_is_loaded(tmp_path):
    for language, lines in {"de": "Fluss\nBaum\n", "en": "river\ntree\n"}.items():
        (tmp_path / f"{language}.txt").write_text(lines, encoding="utf-8")
    options, tasks = TaskOptions(DataSettings()), [("bitext", str(tmp_path))]
    with pytest.raises(InputError, match="^trec .* retrieval"):
        measure_models(["nothing"], options, tasks, trec=tmp_path / "runs")
    with pytest.raises(InputError, match="^differences .* retrieval"):
        compare_models(("nothing", "other"), options, tasks, differences=tmp_path / "won.jsonl")
