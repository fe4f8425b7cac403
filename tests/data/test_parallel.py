import json
from collections import Counter

import numpy as np
import pytest

from distill.data.parallel import Parallel, compute_shares, group_pairs, read_parallel
from distill.encoders.batching import draw_rows
from distill.errors import DataError, InputError


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "questions.tsv"
    rows = [("id", "en", "de", "hi"), ("0", "one", "eins", ""), ("1", "two", "zwei", "दो"), ("2", "", "drei", "तीन")]
    path.write_text("\n".join("\t".join(row) for row in rows) + "\n", encoding="utf-8")
    return path


def test_a_table_gives_a_pair_for_each_cell_beside_the_pivots(table):
    (read,) = read_parallel([table], "en")
    assert (read.name, read.weight) == ("questions.tsv", 1)
    assert (read.languages, read.texts) == (("en", "de", "en", "de", "hi"), ("one", "eins", "two", "zwei", "दो"))
    assert read.pivots == ("one", "one", "two", "two", "two") and read.others == ()
    (read,) = read_parallel([f"{table}=2.5"], "en", ("hi",))
    assert (read.texts, read.weight, read.others) == (("दो",), 2.5, ("de",))


def test_objects_and_aligned_files_are_read_of_any_name(tmp_path):
    (tmp_path / "a.jsonl").write_text(json.dumps({"en": "one", "th": "หนึ่ง", "n": 1}) + "\n", encoding="utf-8")
    (tmp_path / "b=2").mkdir()
    for language, text in (("en", "two\nthree\n"), ("el", "δύο\nτρία\n")):
        (tmp_path / "b=2" / f"{language}.txt").write_text(text, encoding="utf-8")
    first, second = read_parallel([tmp_path / "a.jsonl", tmp_path / "b=2"], "en", ("th", "el"))
    assert (first.texts, first.pivots) == (("หนึ่ง",), ("one",))
    assert (second.texts, second.pivots) == (("δύο", "τρία"), ("two", "three"))
    assert second.weight == 1


@pytest.mark.parametrize("weight", ["0", "-1", "nan", "inf"])
def test_a_weight_is_above_zero(table, weight):
    with pytest.raises(InputError, match=f"={weight}: "):
        read_parallel([f"{table}={weight}"], "en")


@pytest.mark.parametrize("pivot, languages", [("ru", ()), ("en", ("th",))])
def test_a_source_without_a_pair_is_refused(table, pivot, languages):
    with pytest.raises(DataError, match=rf"questions\.tsv: .* {pivot}, "):
        read_parallel([table], pivot, languages)


def source(weight, **counts):
    languages = tuple(language for language, count in counts.items() for _ in range(count))
    return Parallel("x", weight, languages, languages, languages)


def test_small_languages_are_not_drowned():
    sources = [source(3, de=16, th=4), source(1, de=5)]
    assert group_pairs(sources)[1] == 3
    assert group_pairs(sources)[0].tolist() == [0] * 16 + [1] * 4 + [2] * 5
    np.testing.assert_allclose(compute_shares(sources, 1), [0.75 * 16 / 20, 0.75 * 4 / 20, 0.25])
    np.testing.assert_allclose(compute_shares(sources, 2), [0.75 * 4 / 6, 0.75 * 2 / 6, 0.25])  # square roots


def test_rows_are_drawn_by_share_each_before_one_comes_again_and_draws_go_on_where_they_ended():
    groups = np.array([0] * 30 + [1] * 3)
    rows = draw_rows(groups, np.array([0.5, 0.5]), 6000, 0, seed=1)
    assert np.mean(groups[rows] == 0) == pytest.approx(0.5, abs=0.03)
    counts = Counter(rows.tolist())
    for group in (0, 1):
        times = [counts[row] for row in np.flatnonzero(groups == group)]
        assert max(times) - min(times) <= 1
    first = rows[groups[rows] == 0][:30]
    assert sorted(first) == list(range(30)) and first.tolist() != list(range(30))
    groups = np.array([0] * 7 + [1] * 5)
    chances = np.array([0.3, 0.7])
    whole = draw_rows(groups, chances, 20, 0, seed=3)
    parts = [draw_rows(groups, chances, 12, 0, 3), draw_rows(groups, chances, 8, 12, 3)]
    np.testing.assert_array_equal(np.concatenate(parts), whole)
    assert draw_rows(groups, chances, 20, 0, seed=4).tolist() != whole.tolist()


def test_fields_that_are_no_languages_teach_nothing(tmp_path, capsys):
    path = tmp_path / "p.jsonl"
    path.write_text('{"id": "s1", "source": "news", "en": "one", "fil": "isa", "es-419": "uno"}\n', encoding="utf-8")
    (read,) = read_parallel([path], "en")
    assert read.languages == ("en", "fil", "es-419") and "id, source" in capsys.readouterr().err
    assert read_parallel([path], "en", ["id"])[0].texts == ("s1",)


def test_rows_without_the_teachers_language_are_counted_aloud(tmp_path, table, capsys):
    rows = [{"en": "one", "de": "eins"}, {"EN": "two", "de": "zwei"}, {"EN": "three", "fi": "kolme"}]
    (tmp_path / "p.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    (read,) = read_parallel([tmp_path / "p.jsonl"], "en")
    assert read.texts == ("one", "eins")
    words = capsys.readouterr().err.replace(",", "").split()
    assert {"2", "3", "EN", "de", "fi"} <= {*words}
