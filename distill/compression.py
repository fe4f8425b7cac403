"""A smaller student out of a student: other pieces, another shape, and stage 2 again."""

from functools import cached_property

from .candidates import NEW, VOCABULARIES
from .encoder import KerasEncoder
from .progress import task
from .students.extension import extended, mean_rows, trained_pieces, with_rows
from .students.pruning import Rule, lines_of, texts_of
from .students.segmentation import unknown_share
from .students.shape import shaped
from .students.vocabulary import pruned_encoder
from .transfer import Targets, labelled, learn


class Material:
    """What every candidate is made from: the student, the teacher, the data, and text of its languages.

    `corpus` is `{language: [text]}`; `units` are what stage 2 calls a document; `new` are languages that get pieces of
    their own, `pieces` of them at most. The teacher's vectors are computed once, and so are the student's of the train
    questions and the corpus, but for the new languages, which it cuts into what it hardly knows: there the teacher
    alone is learned from.
    """

    def __init__(self, student, teacher, dataset, language, languages, corpus, units, new=(), pieces=0, progress=None):
        self.student, self.dataset, self.languages = student, dataset, languages
        self.new, self.pieces = [name for name in new if name in languages] if pieces else [], pieces
        self.counted, self.others = lines_of(dataset, languages, corpus)
        known = [line for line in self.counted if line.kind != "passage" and line.language not in self.new]
        self.lines = labelled(texts_of(known), student, progress)
        self.targets = Targets(teacher, dataset, language, units, progress)

    @property
    def texts(self):
        """Train questions, passages and the corpus: what is counted and refitted on."""
        return [line.text for line in self.counted]

    def vocabulary(self, name):
        """The student with the pieces of `candidates.VOCABULARIES`, with or without those for new languages."""
        least = VOCABULARIES[name.removesuffix(NEW)]
        encoder = self.larger if name.endswith(NEW) else self.student
        if least is None:
            return encoder
        return pruned_encoder(encoder, Rule(least).pieces(encoder.tokenizer, self.counted))

    @cached_property
    def larger(self):
        """The student with pieces for the new languages, their rows the means of what they replace."""
        before = self.student.tokenizer
        with task("learn pieces for new languages", 1) as advance:
            texts = [line.text for line in self.counted if line.language in self.new]
            learned = trained_pieces(texts, self.pieces, before)
            advance()
        kept = [line.text for line in self.counted if line.language not in self.new]
        after, _ = extended(before, learned, kept)
        return with_rows(self.student, after, mean_rows(self.student, after))

    def left(self, tokenizer):
        """`{language: [before, after]}`, the `<unk>` share of the data set's languages that are not kept."""
        own = self.student.tokenizer
        return {
            name: [unknown_share(each.encode(asked), each) for each in (own, tokenizer)]
            for name, asked in sorted(texts_of(self.others).items())
        }

    def start(self, encoder, shape, seed=0):
        """`encoder` cut to a `Shape`."""
        return shaped(encoder, shape, self.texts, self.targets.documents, seed, self.student)

    def train(self, start, settings, precision, seed=0, log=None):
        """Stage 2 again: towards the fixed teacher, and towards the student on questions and corpus.

        `precision`, an `export.form.Precision`, is that of the settings' quantised epochs.
        """
        made = learn(self.targets, start, self.dataset, self.languages, settings, seed, log, precision, self.lines)
        return KerasEncoder(made.model, made.tokenizer, start.name)


def reshaped(encoder, shape, dataset, languages, seed=0):
    """A `KerasEncoder` cut to a `Shape` on a data set's train questions in these languages and its passages.

    The encoder itself where nothing is cut; its own vectors of the passages span the axes of a smaller dimension.
    Raises `ConfigError` as `Shape.check`.
    """
    shape.check(encoder.model)
    texts = [line.text for line in lines_of(dataset, languages)[0]]
    vectors = encoder.encode(dataset.passage_texts, "document") if shape.dimension else None
    return shaped(encoder, shape, texts, vectors, seed)
