"""A smaller student out of a student: fewer pieces, another shape, a rounded table, and stage 2 again."""

from .encoder import KerasEncoder
from .evaluation import encode_units
from .students.pruning import Rule, lines_of
from .students.shape import shaped
from .students.vocabulary import pruned_encoder
from .transfer import labelled, transfer


class Material:
    """What every candidate is made from: the student, the teacher, the data, and text of its languages.

    `corpus` is `{language: [text]}`. The student's vectors of these and of the train questions are computed once.
    """

    def __init__(self, student, teacher, dataset, language, languages, corpus, progress=None):
        self.student, self.teacher, self.dataset = student, teacher, dataset
        self.language, self.languages = language, languages
        self.counted, _ = lines_of(dataset, languages, corpus)
        asked = {name: [question.text for question in dataset.select(name, "train")] for name in languages}
        texts = {name: asked.get(name, []) + corpus.get(name, []) for name in {**asked, **corpus}}
        self.lines = labelled(texts, student, progress)
        self.documents = encode_units(teacher, dataset, ("passage",), progress)["passage"]

    @property
    def texts(self):
        """Train questions, passages and the corpus: what is counted and refitted on."""
        return [line.text for line in self.counted]

    def vocabulary(self, least):
        """The student with the pieces that are used `least` times or more, None for all."""
        if least is None:
            return self.student
        return pruned_encoder(self.student, Rule(least).pieces(self.student.tokenizer, self.counted))

    def start(self, encoder, shape, seed=0):
        """`encoder` cut to a `Shape`."""
        return shaped(encoder, shape, self.texts, self.documents, seed)

    def train(self, start, settings, seed=0, log=None):
        """Stage 2 again: towards the fixed teacher, and towards the student on the questions and the corpus."""
        made = transfer(
            self.teacher,
            start,
            self.dataset,
            self.language,
            self.languages,
            settings,
            seed,
            log,
            lines=self.lines,
        )
        return KerasEncoder(made.model, made.tokenizer, start.name)
