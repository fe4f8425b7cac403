"""What can go wrong, by kind; the command line turns each into one line and an exit code."""


class DistillError(Exception):
    """A failure that is ours to explain. `exit_code` is what the command line leaves with."""

    exit_code = 1


class InputError(DistillError):
    """The user's input or usage is wrong: nothing was started."""

    exit_code = 2


class DataError(InputError):
    """A data set or a text file that cannot be used; the message names file and place."""


class ConfigError(InputError):
    """A setting that does not exist or has no such value."""


class EncoderError(InputError):
    """An encoder that cannot be found, read or used for what was asked."""


class TranslatorError(InputError):
    """A translator that cannot be found, read or used."""


class TrainingError(DistillError):
    """Training cannot go on."""


class ExportError(DistillError):
    """The exported artefact is not what the student is."""


def first_line(error):
    """The first line of an error's text, or its type's name where it has none."""
    return next(iter(str(error).strip().splitlines()), type(error).__name__)
