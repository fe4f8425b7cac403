"""What the page's sections on language bias and sentence retrieval show, from the content of `metrics.json`."""

from .heatmap import heat_map, highest_of
from .scatter import scatter

MAPS = {
    "one_target": "mAP by question and answer language, one correct answer in the pool",
    "share": "share of the first answers by question and answer language",
}


def sections(lareqa, bitext):
    """What `_lareqa.html.j2` and `_bitext.html.j2` need; None for either leaves its section out."""
    encoders = lareqa["encoders"] if lareqa else {}
    return {
        "lareqa": lareqa,
        "bitext": bitext,
        "maps": {key: heat_maps(select(encoders, key), label) for key, label in MAPS.items()},
        "planes": planes(select(encoders, "pca")),
        "select": select,
        "directed": directed,
        "columns": columns,
    }


def select(encoders, key):
    """`{encoder: its value of key}` of those encoders that have one."""
    return {name: found[key] for name, found in encoders.items() if found.get(key) is not None}


def heat_maps(tables, label):
    """`{encoder: SVG}`, shaded on one scale."""
    highest = highest_of(tables.values())
    return {name: heat_map(rows, f"{name}: {label}", highest) for name, rows in tables.items()}


def planes(found):
    """`{encoder: SVG}` of vectors in the plane."""
    label = "first two principal components of questions and candidates, a panel a language"
    return {
        name: scatter(of["points"], f"{name}: {label}", f"plane-{number}")
        for number, (name, of) in enumerate(found.items())
    }


def directed(encoders, direction):
    """`{encoder: {language: share}}` of one direction, "to" the pivot or "from" it."""
    return {name: {lang: of.get(direction) for lang, of in row.items()} for name, row in encoders.items()}


def columns(rows):
    """The languages of all rows, each once, in the order in which they come."""
    return list(dict.fromkeys(language for row in rows.values() for language in row))
