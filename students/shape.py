"""The shape of a student, and how a student of that shape is made from an encoder: cut, factorised and refitted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

from ..encoders.encoder import KerasEncoder
from ..errors import ConfigError
from ..settings.sections import ShapeSettings
from ..system.types import Floats
from .families import has_part, import_part
from .frequencies import SMOOTHING, Frequencies, require_source
from .project import project_student
from .student import Student

# The sizes of a cut that not every family has.
SIZES = ("rank", "channels", "orders", "convolutions", "hidden", "inner", "depth")


@dataclass(frozen=True)
class Shape:
    """The sizes of a student. A size of 0, or no orders, means the size of the encoder that it is made from.

    Attributes:
        static: True for a `StaticEncoder`; otherwise the student is of the encoder's family.
        rank: The number of columns of the table.
        channels: The number of channels of an n-gram encoder, or of a static student's context window.
        orders: The n-gram orders. The window of a static student has the largest of them.
        convolutions: The number of convolutions per n-gram order.
        hidden: The number of hidden units of a static or an n-gram student.
        inner: The number of feed-forward units.
        depth: The number of a transformer's blocks.
        dimension: The dimension of the vectors.
        frequencies: The source of a static student's token frequencies, as in `Frequencies.of`.
        smoothing: The smoothing constant of these frequencies.

    Example:
        >>> import distill
        >>> distill.Shape(channels=128, convolutions=1).whole
        False
    """

    static: bool = False
    rank: int = 0
    channels: int = 0
    orders: tuple[int, ...] = ()
    convolutions: int = 0
    hidden: int = 0
    inner: int = 0
    depth: int = 0
    dimension: int = 0
    frequencies: str = "text"
    smoothing: float = SMOOTHING

    @classmethod
    def of(cls, settings: ShapeSettings) -> Shape:
        values = {field.name: getattr(settings, field.name) for field in fields(cls)}
        return cls(**{**values, "orders": tuple(map(int, settings.orders))})

    def check(self, model: Student) -> Shape:
        """Return the shape itself. Raises `ConfigError` if a student of this shape cannot be made from the `model`."""
        if self.whole:
            return self
        if not has_part(model.family, "cutting"):
            raise ConfigError(f"a {model.family} student cannot be cut; give the encoder that it was made of")
        if self.dimension and model.foreign:
            raise ConfigError(
                f"dimension: the encoder's vectors are in another encoder's space, which has {model.dimension}; leave "
                "it out"
            )
        self._check_static()
        sizes = find_limits(model, self.static)
        for name, most in sizes.items():
            if getattr(self, name) > most:
                raise ConfigError(f"{name}: the encoder has {most}, expected no more, got {getattr(self, name)}")
        if not self.static:
            self._check_known(model, sizes)
        return self

    def _check_known(self, model, sizes):
        """Refuse sizes that only other families have."""
        known = {*sizes, *({"orders"} if hasattr(model, "orders") else ())}
        other = [name for name in SIZES if getattr(self, name) and name not in known]
        if other:
            raise ConfigError(
                f"{other[0]}: a {model.family} encoder has none; its sizes are {', '.join(sorted(known))}"
            )
        if self.orders and (missing := set(self.orders) - set(model.orders)):
            raise ConfigError(f"orders: the encoder has {_list(model.orders)}, not {_list(sorted(missing))}")

    def _check_static(self):
        if self.static and (self.inner or self.convolutions or self.depth or (self.orders and not self.channels)):
            raise ConfigError("a static student has rank, hidden, dimension, channels and with these orders")
        if not self.static and (self.frequencies, self.smoothing) != ("text", SMOOTHING):
            raise ConfigError("shape.frequencies: this and shape.smoothing are of a static student; give --static")
        require_source(self.frequencies)

    @property
    def whole(self) -> bool:
        """True if nothing is cut."""
        return self == Shape()

    def __str__(self) -> str:
        """Return the shape for folders and tables, as `static-rank256`, or `full` if nothing is cut."""
        values = [(field.name, getattr(self, field.name), field.default) for field in fields(self)]
        return "-".join(f"{name}{_text(value)}" for name, value, default in values if value != default) or "full"


def _text(value):
    return "" if value is True else _list(value) if isinstance(value, tuple) else str(value)


def _list(values):
    return ",".join(map(str, values))


def find_limits(model: Student, static: bool = False) -> dict[str, int]:
    """Return the largest sizes that a student made from an encoder can have; a size without a limit is missing."""
    if static:
        return {"rank": model.space or model.dimension, "dimension": model.dimension}
    if not has_part(model.family, "cutting"):
        return {}
    return import_part(model.family, "cutting").limits_of(model)


def shape_encoder(
    encoder: KerasEncoder,
    shape: Shape,
    texts: Sequence[str],
    vectors: Floats | None,
    seed: int = 0,
    whole: KerasEncoder | None = None,
    languages: Sequence[str] = (),
) -> KerasEncoder:
    """Make a student of a shape from an encoder.

    Raises `ConfigError` if the shape does not fit the encoder, as in `Shape.check`.

    Args:
        vectors: The teacher's vectors `(n, d)`, which span the axes of a smaller `dimension`; otherwise None.
        whole: The encoder whose vectors of single tokens a static student starts from; by default `encoder`. After a
            change of the vocabulary it is the one before, whose vectors are better.
    """
    shape.check(encoder.model)
    if shape.whole:
        return encoder
    if shape.static:
        rows = encoder.tokenizer.encode(list(texts), None)
        order = max(shape.orders or getattr(encoder.model, "orders", (3,)))
        most = find_limits(encoder.model, static=True)["rank"]
        sizes = shape.rank or min(256, most), shape.hidden or 256
        often = Frequencies.of(encoder.tokenizer, rows, shape.frequencies, shape.smoothing, languages)
        start = import_part("static", "network")
        model = start.make_static(whole or encoder, encoder.tokenizer, often, *sizes, shape.channels, order, seed)
    else:
        rows = encoder.tokenizer.encode(list(texts), "document")
        model = import_part(encoder.model.family, "cutting").cut(encoder.model, shape, rows)
    if shape.dimension and shape.dimension < model.dimension:
        model = project_student(model, vectors, shape.dimension)
    return KerasEncoder(model, encoder.tokenizer, encoder.name)
