import numpy as np
from fixtures.encoders import Words

from distill.training.stages.targets import Targets, answering_documents


def test_targets_are_the_teachers_vectors_documents_before_passages_and_progress_is_told(sample):
    targets = Targets.of(Words(), sample, "en", ("document", "passage"))
    questions = sample.select("en", "train")
    np.testing.assert_array_equal(targets.questions, Words().encode([q.text for q in questions]))
    assert targets.row == {question.id: row for row, question in enumerate(questions)}
    assert targets.texts == sample.document_texts + sample.passage_texts
    np.testing.assert_array_equal(targets.documents, Words().encode(targets.texts))
    seen = []
    Targets.of(Words(), sample, "en", ("passage",), progress=seen.append)
    # Documents are encoded first, as the longest text sets the widths of a compiled program.
    assert seen == [len(sample.passages), len(questions)]


def test_answers_are_the_document_then_the_passage(sample):
    # Passages 0 and 7 by hand: of the documents first, then of the passages, which follow the 48 documents.
    passages = np.array([0, 7])
    documents = [sample.passages[0].document, sample.passages[7].document]
    assert answering_documents(sample, passages, ("document", "passage")).tolist() == [
        [documents[0], 48],
        [documents[1], 55],
    ]
    expected = [[0, 144 + documents[0]], [7, 144 + documents[1]]]
    assert answering_documents(sample, passages, ("passage", "document")).tolist() == expected
    assert answering_documents(sample, passages, ("passage",)).tolist() == [[0], [7]]
