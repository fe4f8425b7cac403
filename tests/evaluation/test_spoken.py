from dataclasses import replace

import numpy as np

from distill.evaluation.evaluate import evaluate
from distill.evaluation.spoken import languages_of_head


def test_the_languages_of_the_nearest_passages_are_counted_by_the_questions_language(sample, tiny_encoder):
    spoken = ["de" if row % 3 else "en" for row in range(len(sample.passages))]
    passages = [replace(passage, language=one) for passage, one in zip(sample.passages, spoken, strict=True)]
    data = replace(sample, passages=tuple(passages))
    evaluation = evaluate(tiny_encoder, data, "dev", ["en", "th"], ["passage"])
    vectors = tiny_encoder.encode(data.passage_texts, "document")
    for language in ("en", "th"):
        shares = []
        for question in data.select(language, "dev"):
            scores = vectors @ tiny_encoder.encode([question.text])[0]
            nearest = sorted(range(len(scores)), key=lambda row: -scores[row])[:10]
            shares.append(sum(spoken[row] == "de" for row in nearest) / 10)
        assert abs(evaluation.spoken[language]["de"] - np.mean(shares)) < 0.02
        assert abs(sum(evaluation.spoken[language].values()) - 1) < 1e-9
    assert evaluate(tiny_encoder, sample, "dev", ["en"], ["passage"]).spoken == {}
    few = replace(data, passages=tuple(passages[:2]))
    assert languages_of_head({"en": vectors[:1]}, vectors[:2], few) == {"en": {"en": 0.5, "de": 0.5}}
