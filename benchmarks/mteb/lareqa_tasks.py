"""Define XQuAD across languages, XQuAD-R and LAReQA as retrieval tasks of mteb; the file needs mteb alone.

    import lareqa_tasks, mteb

    task = lareqa_tasks.LAReQARetrieval()  # XQuADRRetrieval, XQuADCrossLingualRetrieval
    mteb.evaluate(mteb.get_model("intfloat/multilingual-e5-small"), task)

The data come from where `metadata.dataset` says, or from a folder of the official `{language}.json` files by
`task.load_folder("path/to/xquad-r")`, where `questions=` keeps some of the questions; all documents stay candidates.

Every question and every paragraph in a language other than English is a professional translation made by people
(Artetxe et al., 2020, section 3; Romanian: Dumitrescu et al., 2021), no text is machine-translated. The boundaries of
sentences are Roy et al.'s (2020). Documents of the pool in several languages are translations of each other, and each
of them that answers the question is right: a model with a bias towards the question's language loses precision.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import datasets
from mteb.abstasks.retrieval import AbsTaskRetrieval
from mteb.abstasks.task_metadata import TaskMetadata

SPLIT = "validation"
LANGUAGES = {
    "ar": "arb-Arab",
    "de": "deu-Latn",
    "el": "ell-Grek",
    "en": "eng-Latn",
    "es": "spa-Latn",
    "hi": "hin-Deva",
    "ro": "ron-Latn",
    "ru": "rus-Cyrl",
    "th": "tha-Thai",
    "tr": "tur-Latn",
    "vi": "vie-Latn",
    "zh": "zho-Hans",
}
# Romanian came later.
LANGUAGES_R = {language: code for language, code in LANGUAGES.items() if language != "ro"}
# On the hub, rows of (id, context, question, answers) in the configuration xquad.{language}.
XQUAD = {"path": "google/xquad", "revision": "51adfef1c1287aab1d2d91b5bead9bcfb9c68583"}
# On GitHub: the copy on the hub, google-research-datasets/xquad_r, has no boundaries of sentences.
XQUAD_R = {"path": "google-research-datasets/lareqa", "revision": "5405d2a77e83d5ccb47623a3f9e5604c3f103193"}
FILE = "https://raw.githubusercontent.com/{path}/{revision}/xquad-r/{language}.json"

# As XQuADRetrieval of mteb's has them.
CITATION_XQUAD = r"""
@article{Artetxe:etal:2019,
  archiveprefix = {arXiv},
  author = {Mikel Artetxe and Sebastian Ruder and Dani Yogatama},
  eprint = {1910.11856},
  journal = {CoRR},
  title = {On the cross-lingual transferability of monolingual representations},
  volume = {abs/1910.11856},
  year = {2019},
}

@inproceedings{dumitrescu2021liro,
  author = {Stefan Daniel Dumitrescu and others},
  booktitle = {NeurIPS Datasets and Benchmarks Track (Round 1)},
  title = {LiRo: Benchmark and leaderboard for Romanian language tasks},
  url = {https://openreview.net/forum?id=JH61CD7afTv},
  year = {2021},
}
"""
CITATION_LAREQA = r"""
@article{roy2020lareqa,
  author = {Roy, Uma and Constant, Noah and Al-Rfou, Rami and Barua, Aditya and Phillips, Aaron and Yang, Yinfei},
  journal = {arXiv preprint arXiv:2004.05484},
  title = {LAReQA: Language-agnostic answer retrieval from a multilingual pool},
  year = {2020},
}
"""


class Question(NamedTuple):
    """A question: its ID, which its translations share, its text, and the ID of the document that answers it."""

    id: str
    text: str
    document: str


class Language(NamedTuple):
    """The documents of one language by ID, and its questions."""

    documents: dict[str, str]
    questions: list[Question]


def read_squad(path: str | Path) -> list[dict[str, Any]]:
    """Return the paragraphs of a file in the format of SQuAD v1.1."""
    content = json.loads(Path(path).read_text(encoding="utf-8"))
    return [paragraph for article in content["data"] for paragraph in article["paragraphs"]]


def paragraphs(of: list[dict[str, Any]], language: str) -> Language:
    """Make a document of each whole paragraph."""
    documents = {f"{language}-{number}": paragraph["context"] for number, paragraph in enumerate(of)}
    questions = [
        Question(qa["id"], qa["question"], document)
        for document, paragraph in zip(documents, of, strict=True)
        for qa in paragraph["qas"]
    ]
    return Language(documents, questions)


def sentences(of: list[dict[str, Any]], language: str) -> Language:
    """Make a document of each sentence. The one in which the answer begins answers the question."""
    documents, questions = {}, []
    for number, paragraph in enumerate(of):
        context, breaks = paragraph["context"], paragraph["sentence_breaks"]
        documents |= {f"{language}-{number}-{place}": context[start:end] for place, (start, end) in enumerate(breaks)}
        for qa in paragraph["qas"]:
            start = qa["answers"][0]["answer_start"]
            place = max(place for place, (first, _) in enumerate(breaks) if first <= start)
            questions.append(Question(qa["id"], qa["question"], f"{language}-{number}-{place}"))
    return Language(documents, questions)


class _Parallel(AbsTaskRetrieval):
    """A task of parallel questions, with a subset for each language that `_read` returns."""

    languages = LANGUAGES
    cut = staticmethod(paragraphs)

    def load_data(self, num_proc: int | None = None, **kwargs: Any) -> None:
        if not self.data_loaded:
            self._fill({language: self.cut(self._fetch(language), language) for language in self._needed()})

    def load_folder(self, folder: str | Path, questions: Collection[str] | None = None) -> _Parallel:
        """Take the data from a folder of `{language}.json` in the format of SQuAD v1.1, and these questions alone."""
        files = {language: Path(folder) / f"{language}.json" for language in self._needed()}
        self._fill({name: self.cut(read_squad(path), name) for name, path in files.items()}, questions)
        return self

    def _fetch(self, language: str) -> list[dict[str, Any]]:
        raise NotImplementedError

    def _needed(self) -> list[str]:
        """Return the languages that the chosen subsets are made of."""
        return list(self.languages)

    def _parts(self, known: dict[str, Language]) -> Iterator[tuple[str, Language, dict[str, dict[str, int]]]]:
        """Yield each subset with its documents and questions, and the right documents of each question."""
        raise NotImplementedError

    def _fill(self, known: dict[str, Language], questions: Collection[str] | None = None) -> None:
        self.dataset = {}
        for subset, (documents, every), right in self._parts(known):
            chosen = [one for one in every if questions is None or one.id in questions]
            self.dataset[subset] = {
                SPLIT: {
                    "corpus": datasets.Dataset.from_dict({"id": [*documents], "text": [*documents.values()]}),
                    "queries": datasets.Dataset.from_dict(
                        {"id": [one.id for one in chosen], "text": [one.text for one in chosen]}
                    ),
                    "relevant_docs": {one.id: right[one.id] for one in chosen},
                    "top_ranked": None,
                }
            }
        self.data_loaded = True


class XQuADCrossLingualRetrieval(_Parallel):
    """Questions in each language, paragraphs in English."""

    metadata = TaskMetadata(
        name="XQuADCrossLingualRetrieval",
        description="Questions of XQuAD in 12 languages, and the 240 English paragraphs of which one answers each. "
        "Unlike XQuADRetrieval, where question and paragraph are in one language, the paragraphs stay in English. The "
        "questions are professional human translations.",
        reference="https://arxiv.org/abs/1910.11856",
        dataset=XQUAD,
        type="Retrieval",
        category="t2t",
        modalities=["text"],
        eval_splits=[SPLIT],
        eval_langs={f"eng-{code.split('-')[0]}": ["eng-Latn", code] for code in LANGUAGES.values()},
        main_score="ndcg_at_10",
        date=("2019-05-21", "2019-11-21"),
        domains=["Encyclopaedic", "Written"],
        task_subtypes=["Question answering"],
        license="cc-by-sa-4.0",
        annotations_creators="human-annotated",
        dialect=[],
        sample_creation="human-translated",
        bibtex_citation=CITATION_XQUAD,
        adapted_from=["XQuADRetrieval"],
    )

    def _fetch(self, language: str) -> list[dict[str, Any]]:
        questions: dict[str, list[dict[str, Any]]] = {}
        for row in datasets.load_dataset(name=f"xquad.{language}", split=SPLIT, **self.metadata.dataset):
            questions.setdefault(row["context"], []).append({"id": row["id"], "question": row["question"]})
        return [{"context": context, "qas": qas} for context, qas in questions.items()]

    def _needed(self) -> list[str]:
        codes = {f"eng-{code.split('-')[0]}": language for language, code in self.languages.items()}
        return list(dict.fromkeys(["en", *(codes[subset] for subset in self.hf_subsets)]))

    def _parts(self, known):
        right = {one.id: {one.document: 1} for one in known["en"].questions}
        for language in known:
            subset = f"eng-{self.languages[language].split('-')[0]}"
            if subset in self.hf_subsets:
                yield subset, Language(known["en"].documents, known[language].questions), right


class _Sentences(_Parallel):
    languages = LANGUAGES_R
    cut = staticmethod(sentences)

    def _fetch(self, language: str) -> list[dict[str, Any]]:
        url = FILE.format(**self.metadata.dataset, language=language)
        return read_squad(datasets.DownloadManager().download(url))


class XQuADRRetrieval(_Sentences):
    """Sentences of the question's language."""

    metadata = TaskMetadata(
        name="XQuADRRetrieval",
        description="XQuAD-R: for each question of XQuAD the sentence that answers it, among all sentences of the "
        "question's language, in 11 languages; LAReQA's task within one language (Table 4). All texts that are not "
        "English are professional human translations.",
        reference="https://arxiv.org/abs/2004.05484",
        dataset=XQUAD_R,
        type="Retrieval",
        category="t2t",
        modalities=["text"],
        eval_splits=[SPLIT],
        eval_langs={language: [code] for language, code in LANGUAGES_R.items()},
        main_score="map_at_1000",
        date=("2019-05-21", "2020-04-11"),
        domains=["Encyclopaedic", "Written"],
        task_subtypes=["Question answering"],
        license="cc-by-sa-4.0",
        annotations_creators="human-annotated",
        dialect=[],
        sample_creation="human-translated",
        bibtex_citation=CITATION_LAREQA + CITATION_XQUAD,
        adapted_from=["XQuADRetrieval"],
    )

    def _needed(self) -> list[str]:
        return list(self.hf_subsets)

    def _parts(self, known):
        for language, part in known.items():
            yield language, part, {one.id: {one.document: 1} for one in part.questions}


class LAReQARetrieval(_Sentences):
    """Sentences of all languages in one pool. Those that answer a question are right in any language."""

    metadata = TaskMetadata(
        name="LAReQARetrieval",
        description="LAReQA on XQuAD-R: for each question of XQuAD the sentences that answer it, one in each of 11 "
        "languages, among the sentences of all languages in one pool; a subset has the questions of one language. It "
        "asks for strong alignment: right sentences of any language before wrong ones of the question's own. All texts "
        "that are not English are professional human translations.",
        reference="https://arxiv.org/abs/2004.05484",
        dataset=XQUAD_R,
        type="Retrieval",
        category="t2t",
        modalities=["text"],
        eval_splits=[SPLIT],
        # The question's language first; the pool is of all.
        eval_langs={
            language: [code, *(other for other in LANGUAGES_R.values() if other != code)]
            for language, code in LANGUAGES_R.items()
        },
        # The paper's mAP; mteb ranks 1,000 of the pool's 13,014 sentences.
        main_score="map_at_1000",
        date=("2019-05-21", "2020-04-11"),
        domains=["Encyclopaedic", "Written"],
        task_subtypes=["Question answering"],
        license="cc-by-sa-4.0",
        annotations_creators="human-annotated",
        dialect=[],
        sample_creation="human-translated",
        bibtex_citation=CITATION_LAREQA + CITATION_XQUAD,
        adapted_from=["XQuADRetrieval"],
    )

    def _parts(self, known):
        pool = {id: text for part in known.values() for id, text in part.documents.items()}
        right: dict[str, dict[str, int]] = {}
        for part in known.values():
            for one in part.questions:
                right.setdefault(one.id, {})[one.document] = 1
        for language in self.hf_subsets:
            yield language, Language(pool, known[language].questions), right
