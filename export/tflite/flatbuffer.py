"""Read and change a TFLite flatbuffer by its schema: the operators that it needs, and their names."""

from __future__ import annotations

from collections.abc import Sequence

from ...errors import ExportError

# Operators and versions that were run under tflite-runtime 2.14, the oldest runtime that has to load an artefact.
NEWEST = {
    **dict.fromkeys(("ADD", "BITCAST", "CONCATENATION", "EXPAND_DIMS", "FLOOR", "GREATER_EQUAL", "MAXIMUM"), 1),
    **dict.fromkeys(("LESS", "MEAN", "MUL", "PAD", "RELU", "RESHAPE", "RSQRT", "SELECT_V2", "SHAPE"), 1),
    **dict.fromkeys(("SQUARED_DIFFERENCE", "STRIDED_SLICE", "SUB", "SUM", "TANH", "TILE"), 1),
    # These are for transformers.
    **dict.fromkeys(("BATCH_MATMUL", "CUMSUM", "DIV", "GELU", "MINIMUM", "REDUCE_MAX", "SOFTMAX", "TRANSPOSE"), 1),
    **dict.fromkeys(("COS", "SIN"), 1),
    # These are for spellings, and were run in MediaPipe and in newer runtimes only.
    **dict.fromkeys(("LESS_EQUAL", "RANGE"), 1),
    **{"CAST": 3, "FULLY_CONNECTED": 9, "GATHER": 2},
}


def require_operators(content: bytes, custom: Sequence[str] = ()) -> None:
    for name, version, is_custom in list_operators(content):
        if is_custom and name not in custom:
            raise ExportError(f"the converted file needs the operator {name}, which is not builtin")
        if not is_custom and version > NEWEST.get(name, 0):
            tried = f"version {NEWEST[name]} is the newest" if name in NEWEST else "none was"
            raise ExportError(
                f"the converted file needs the operator {name}, version {version}; with the oldest supported "
                f"runtime, tflite-runtime 2.14, {tried} tried"
            )


def list_operators(content: bytes) -> list[tuple[str, int, bool]]:
    """List the operators of a flatbuffer as `(name, version, is_custom)`."""
    model = _model(content)
    codes = [model.OperatorCodes(number) for number in range(model.OperatorCodesLength())]
    return [_operator(code) for code in codes]


def _operator(code):
    from ai_edge_litert import schema_py_generated as schema

    if code.CustomCode():
        return code.CustomCode().decode(), code.Version(), True
    names = {value: name for name, value in vars(schema.BuiltinOperator).items() if isinstance(value, int)}
    return names[max(code.BuiltinCode(), code.DeprecatedBuiltinCode())], code.Version(), False


def rename_operator(content: bytes, old: str, new: str) -> bytes:
    """Rename a custom operator in place, without moving anything else; a longer name that was there counts as room."""
    model, changed = _model(content), bytearray(content)
    for number in range(model.OperatorCodesLength()):
        code = model.OperatorCodes(number)
        if code.CustomCode() == old.encode():
            _write_string(changed, _place_of_name(code), new.encode())
    return bytes(changed)


def _place_of_name(code):
    """Return the start of an operator's custom name: a uint32 length and that many bytes, NUL-terminated."""
    from flatbuffers.number_types import UOffsetTFlags

    table = code._tab
    field = table.Pos + table.Offset(6)  # custom_code, field 1 of the schema's OperatorCode
    return field + table.Get(UOffsetTFlags, field)


def _write_string(content, start, text):
    size, first = int.from_bytes(content[start : start + 4], "little"), start + 4
    end = first + size
    while end < first + len(text) and content[end + 1 : end + 2] == b"\0":
        end += 1
    if len(text) > end - first:
        raise ExportError(f"the operator's name has room for {end - first} bytes, {text.decode()} needs {len(text)}")
    content[start:first] = len(text).to_bytes(4, "little")
    content[first:end] = text.ljust(end - first, b"\0")


def _model(content):
    from ai_edge_litert import schema_py_generated as schema

    return schema.Model.GetRootAsModel(content, 0)
