"""The shape of a student, and a student of that shape from an encoder: sliced, factorised, refitted, not at random."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

from ..encoders.encoder import KerasEncoder
from ..errors import ConfigError
from ..settings.sections import ShapeSettings
from ..system.types import Floats
from .families import family_part, has_part
from .frequencies import SMOOTHING, Frequencies, require_source
from .project import projected
from .student import Student

# Those of a cut that not every family has.
SIZES = ("rank", "channels", "orders", "convolutions", "hidden", "inner", "depth")


@dataclass(frozen=True)
class Shape:
    """Sizes of a student; 0 or empty: as in the encoder that it is made of.

    `static`: a `StaticEncoder` of `rank` columns and `hidden` units, and with `channels` a window of the largest of
    `orders`; else an encoder of the same family, whose table has `rank` columns: `depth` are a transformer's blocks,
    `inner` its feed-forward units. `dimension` is that of the vectors. `frequencies`
    and `smoothing` are those of a static student's pieces, as `Frequencies.of` takes them.
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
        """Return the shape that settings name."""
        values = {field.name: getattr(settings, field.name) for field in fields(cls)}
        return cls(**{**values, "orders": tuple(map(int, settings.orders))})

    def check(self, model: Student) -> Shape:
        """Return the shape itself. Raises `ConfigError` for what is no cut of the `model`."""
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
        sizes = limits(model, self.static)
        for name, most in sizes.items():
            if getattr(self, name) > most:
                raise ConfigError(f"{name}: the encoder has {most}, expected no more, got {getattr(self, name)}")
        if not self.static:
            self._check_known(model, sizes)
        return self

    def _check_known(self, model, sizes):
        """Refuse sizes of another family."""
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
        """True where nothing is cut."""
        return self == Shape()

    def __str__(self) -> str:
        """`static-rank256`, `channels128-orders2,3`: for folders and tables; `full` where nothing is cut."""
        values = [(field.name, getattr(self, field.name), field.default) for field in fields(self)]
        return "-".join(f"{name}{_text(value)}" for name, value, default in values if value != default) or "full"


def _text(value):
    return "" if value is True else _list(value) if isinstance(value, tuple) else str(value)


def _list(values):
    return ",".join(map(str, values))


def limits(model: Student, static: bool = False) -> dict[str, int]:
    """Return the most of each size that a student made of another can have; what is missing has no limit."""
    if static:
        return {"rank": model.space or model.dimension, "dimension": model.dimension}
    return family_part(model.family, "cutting").limits_of(model)


def shaped(
    encoder: KerasEncoder,
    shape: Shape,
    texts: Sequence[str],
    vectors: Floats | None,
    seed: int = 0,
    whole: KerasEncoder | None = None,
    languages: Sequence[str] = (),
) -> KerasEncoder:
    """Return a `KerasEncoder` of `shape` out of another, that encoder itself where nothing is cut.

    `texts` are what it is refitted on and whose pieces are counted; `vectors` `(n, d)`, the teacher's, span the axes of
    a smaller `dimension`. A static student has the vectors that `whole` gives its pieces, by default the encoder: what
    the encoder was before its vocabulary was changed knows them better. `languages` are those of which frequent words
    are taken, where the shape says so. Raises `ConfigError` as `Shape.check`.
    """
    shape.check(encoder.model)
    if shape.whole:
        return encoder
    if shape.static:
        rows = encoder.tokenizer.encode(list(texts), None)
        order = max(shape.orders or getattr(encoder.model, "orders", (3,)))
        most = limits(encoder.model, static=True)["rank"]
        sizes = shape.rank or min(256, most), shape.hidden or 256
        often = Frequencies.of(encoder.tokenizer, rows, shape.frequencies, shape.smoothing, languages)
        start = family_part("static", "start")
        model = start.static_from(whole or encoder, encoder.tokenizer, often, *sizes, shape.channels, order, seed)
    else:
        rows = encoder.tokenizer.encode(list(texts), "document")
        model = family_part(encoder.model.family, "cutting").cut(encoder.model, shape, rows)
    if shape.dimension and shape.dimension < model.dimension:
        model = projected(model, vectors, shape.dimension)
    return KerasEncoder(model, encoder.tokenizer, encoder.name)
