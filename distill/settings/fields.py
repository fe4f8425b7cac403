"""How a setting and a section of settings describe themselves: what `sections` fills in and everything else derives.

A field holds everything that a command, a search, a resumed run or a card needs to know of its setting.
"""

from __future__ import annotations

from dataclasses import field
from enum import Enum, Flag, auto
from functools import partial


class Work(Flag):
    """Work that is kept on disk and continued; a setting that bears on it may not change meanwhile."""

    RUN = auto()
    # The trials of `distill compress`.
    COMPRESSION = auto()
    # Those of `distill tune`: all of them together, or each, which may have a value of its own.
    STUDY = auto()
    TRIAL = auto()


class Names(Enum):
    """Kinds of things outside of the settings that a value may name."""

    NOTHING = "nothing"
    DATASET = "a data set"
    ENCODER = "an encoder"
    ENCODERS = "encoders"
    # FILE, FILE or FILE=WEIGHT, FILE or LANGUAGE=FILE; FOLDER or LANGUAGE=FOLDER of a translation model.
    FILE = "a file"
    FILES = "files"
    WEIGHTED_FILES = "files with weights"
    LANGUAGE_FILES = "files by language"
    TRANSLATORS = "translation models"
    # The data set's own parallel.tsv and descriptions.jsonl.
    OWN_TEXT = "the data set's own text"


class Offer(Enum):
    """Places where a command offers a setting: its help, `--help-all`, or `--set` and the config alone."""

    MAIN = "--help"
    FLAG = "--help-all"
    SET = "--set"


MAIN, FLAG, SET = Offer.MAIN, Offer.FLAG, Offer.SET
# What a field may say of its setting beside its flag, its help and its options, and what it says where it is silent.
ABOUT = {
    # Whether a tuple with options may have none of them.
    "may_be_empty": False,
    # The limits of a number.
    "low": None,
    "high": float("inf"),
    # The commands that honour it, where these are not the section's, and values that only some of these honour.
    "commands": "",
    "only": {},
    # The way out for a command that does not honour it.
    "instead": "",
    "offer": SET,
    "names": Names.NOTHING,
    # Its name in configs of earlier versions, which are read.
    "was": "",
    # Its key in the card of an encoder that learned from what it names.
    "card": "",
}


def _setting(bears_on, default, flag, help, options=None, **more):
    """A field of a section: what its value bears on, where it is offered, and what else `ABOUT` lists of it."""
    if unknown := more.keys() - ABOUT.keys():
        raise TypeError(f"a setting has no {', '.join(sorted(unknown))}")
    metadata = {"bears_on": bears_on, "flag": flag, "help": help, "options": options}
    return field(default=default, metadata={**metadata, **ABOUT, **more})


def _section(kind, title="", commands="", refused="", instead=""):
    """A field that holds a section: its title in help, and the commands that honour its settings, parted by blanks.

    Other commands take no notice of the section in a config, as it is about work that they do not do, but for those
    that have `refused` it: their work would be another with it. `instead` is the way out for these. A section within
    another is told by that one's.
    """
    about = {"title": title, "commands": commands, "refused": refused, "instead": instead}
    return field(default_factory=kind, metadata=about if title else {})


# Kept as values, as the fields' own types are what type checkers see.
setting, section = partial(_setting), partial(_section)
# The same for all trials of a search.
common = partial(_setting, Work.RUN | Work.COMPRESSION | Work.STUDY)
# A trial of `distill tune` may have its own.
learned = partial(_setting, Work.RUN | Work.COMPRESSION | Work.TRIAL)
# `distill tune` does without: it notes the content that is named here, or ends before it is measured.
untuned = partial(_setting, Work.RUN | Work.COMPRESSION)
# A verdict on figures that stay.
free = partial(_setting, Work(0))
