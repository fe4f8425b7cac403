"""Fields that describe a setting or a section, which `sections` fills in and from which everything else is derived.

A field holds everything that a command, a search, a resumed run or a card needs to know about its setting.
"""

from __future__ import annotations

from dataclasses import field
from enum import Enum, Flag, auto
from functools import partial


class Work(Flag):
    """Kinds of work that are kept on disk and continued. A setting that bears on one may not change meanwhile."""

    RUN = auto()
    # The trials of `distill compress`.
    COMPRESSION = auto()
    # The trials of `distill tune`: all of them together, or each one, which may have its own value.
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
    # Its descriptions.jsonl alone.
    OWN_DESCRIPTIONS = "the data set's own descriptions"


class Offer(Enum):
    """Places in which a command offers a setting: its help, `--help-all`, or only `--set` and the config."""

    MAIN = "--help"
    FLAG = "--help-all"
    SET = "--set"


MAIN, FLAG, SET = Offer.MAIN, Offer.FLAG, Offer.SET
# Further entries of a field, beside its flag, its help and its options, with their defaults.
ABOUT = {
    # True if a tuple with options may be empty.
    "may_be_empty": False,
    # The limits of a number.
    "low": None,
    "high": float("inf"),
    # The commands that honour it, if they differ from those of the section, and values that only some of these honour.
    "commands": "",
    "only": {},
    # The way out for a command that does not honour it.
    "instead": "",
    "offer": SET,
    "names": Names.NOTHING,
    # Its key in the card of an encoder that learned from what it names.
    "card": "",
}


def _setting(bears_on, default, flag, help, options=None, **more):
    """Make the field of a setting, with the kinds of work that its value bears on and further entries of `ABOUT`."""
    if unknown := more.keys() - ABOUT.keys():
        raise TypeError(f"a setting has no {', '.join(sorted(unknown))}")
    metadata = {"bears_on": bears_on, "flag": flag, "help": help, "options": options}
    return field(default=default, metadata={**metadata, **ABOUT, **more})


def _section(kind, title="", commands="", refused="", instead=""):
    """Make a field that holds a section, with its title in help and the commands that honour its settings.

    The names of commands are separated by blanks. Other commands ignore the section in a config, as it is about work
    that they do not do. Commands in `refused` would do different work with it, and refuse it; `instead` is the way out.
    A section within another is described by the outer one.
    """
    about = {"title": title, "commands": commands, "refused": refused, "instead": instead}
    return field(default_factory=kind, metadata=about if title else {})


# These are values and not functions, so that type checkers see the declared types of the fields.
setting, section = partial(_setting), partial(_section)
# A setting that is the same for all trials of a search.
common = partial(_setting, Work.RUN | Work.COMPRESSION | Work.STUDY)
# A setting that each trial of `distill tune` may choose.
learned = partial(_setting, Work.RUN | Work.COMPRESSION | Work.TRIAL)
# A setting that `distill tune` does not compare: it notes the content that is named here, or ends before the setting
# matters.
untuned = partial(_setting, Work.RUN | Work.COMPRESSION)
# A setting that only judges figures and changes none.
free = partial(_setting, Work(0))
