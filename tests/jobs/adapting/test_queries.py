"""Queries that documents ask about themselves, of the documents that are held out."""

import json

import numpy as np
import pytest

from distill.data.loading import read_dataset
from distill.data.readers import SAMPLE
from distill.errors import DataError
from distill.jobs.adapting.queries import FEWEST_QUERIES, hold_out, write_queries
from distill.search_engine.documents.collection import FEWEST, read_collection

DOCUMENTS = SAMPLE / "documents.jsonl"


@pytest.fixture(scope="module")
def collection():
    return read_collection([DOCUMENTS])


def test_whole_documents_are_held_out_and_ask_by_heading_and_sentence(collection, tmp_path):
    held = hold_out(collection, seed=1)
    data, whole = held.dataset, collection.dataset
    of = [set(whole.document_of[rows].tolist()) for rows in (held.rows, ~held.rows)]
    assert not of[0] & of[1] and len(of[0]) == round(0.1 * 108) + round(0.2 * 108)
    kept = {passage.text for passage in whole.passages}
    for query in data.questions["en"].values():
        passage = data.passages[query.passage]
        assert (query.text in whole.titles) if query.id.startswith("heading") else (query.text not in passage.text)
        if query.id.startswith("sentence"):
            assert passage.text not in kept and sum(query.text in text for text in kept) >= 1
    write_queries(data, tmp_path / "queries")
    again = read_dataset(tmp_path / "queries")
    assert again.splits == data.splits and again.passage_texts == data.passage_texts
    assert {id: q.passage for id, q in again.questions["en"].items()} == {
        id: q.passage for id, q in data.questions["en"].items()
    }


def test_documents_of_one_title_are_not_parted(tmp_path):
    rows = [
        {"title": f"River {n // 2}", "section": "Course", "text": f"It is {n} miles long. It ends there."}
        for n in range(200)
    ]
    path = tmp_path / "rivers.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    collection = read_collection([path])
    assert collection.headings[2] == "River 1 Course" and collection.groups[2] == collection.groups[3]
    held = hold_out(collection).rows
    np.testing.assert_array_equal(held[::2], held[1::2])
    # Both documents of a title have the heading, so that none asks.
    assert {id.split()[0] for id in hold_out(collection).dataset.questions["en"]} == {"sentence"}


@pytest.mark.parametrize(
    ("texts", "place"),
    [
        (["The Nile flows north. It ends."] * (FEWEST - 1), "49 of 49"),
        (["One sentence alone"] * 200, "0 of 200"),
        (["The Nile flows north. It ends."] * (FEWEST - 1) + [" "], "49 of 49"),
        (["The Nile flows north. It ends."] * FEWEST, str(FEWEST_QUERIES)),
    ],
)
def test_too_little_is_refused(texts, place, tmp_path):
    path = tmp_path / "few.jsonl"
    path.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts), encoding="utf-8")
    with pytest.raises(DataError, match=place):
        hold_out(read_collection([path]))
