import pytest

from distill.errors import DataError
from distill.papers.bias.labelled_texts import load_labelled

HEAD = "id\tpartition\tintent\ten\tde\n"
ROWS = "7\ttrain\ta\tone\teins\n8\ttrain\tb\ttwo\t\n9\ttest\ta\tthree\tdrei\n10\ttest\tb\tfour\t \n"


@pytest.fixture
def table(tmp_path):
    def write(text):
        path = tmp_path / "a.tsv"
        path.write_text(text, encoding="utf-8")
        return path

    return write


def test_rows_have_a_label_a_partition_and_texts_in_some_of_the_languages(table, tmp_path):
    data = load_labelled(table(HEAD + ROWS))
    assert (data.name, list(data.texts)) == (f"{tmp_path.name}/a", ["en", "de"])
    assert data.select("en", "train") == ["one", "two"] and data.select("de", "test") == ["drei"]
    assert data.labels[data.rows("de", "test")].tolist() == ["a"]
    assert data.ids[data.rows("en", "test")].tolist() == ["9", "10"]
    assert list(load_labelled(table(HEAD + ROWS), ("en",)).texts) == ["en"]


def test_the_labels_column_may_have_any_name_and_rows_need_none(table):
    text = (HEAD + ROWS).replace("intent", "topic").replace("partition", "split").replace("id\t", "number\t")
    data = load_labelled(table(text), column="topic")
    assert data.labels.tolist() == ["a", "b", "a", "b"] and data.ids.tolist() == ["1", "2", "3", "4"]


@pytest.mark.parametrize(
    ("text", "languages", "said"),
    [
        ((HEAD + ROWS).replace("intent", "topic"), (), "labels"),
        ((HEAD + ROWS).replace("partition", "part"), (), "partitions"),
        ((HEAD + ROWS).replace("\tb\t", "\ta\t"), (), "only one label, 'a'"),
        ((HEAD + ROWS).replace("train\tb", "train\t"), (), "without a label"),
        ((HEAD + ROWS).replace("test", "dev"), (), "partition test; the partitions are dev, train"),
        (HEAD + ROWS, ("en", "th"), "column th"),
        ((HEAD + ROWS).replace("drei", ""), (), "no texts in de"),
    ],
)
def test_a_table_that_nothing_can_be_learned_from_is_refused(table, text, languages, said):
    path = table(text)
    with pytest.raises(DataError, match=f"^{path}: .*{said}"):
        load_labelled(path, languages)


def test_a_folder_is_no_table(tmp_path):
    with pytest.raises(DataError, match=f"^{tmp_path}: "):
        load_labelled(tmp_path)


def test_the_option_of_the_labels_column_is_told_where_that_is_missing_alone(table):
    for heading, told in (("intent", True), ("partition", False)):
        with pytest.raises(DataError) as raised:
            load_labelled(table((HEAD + ROWS).replace(heading, "topic")))
        assert ("--label-column" in str(raised.value)) is told
