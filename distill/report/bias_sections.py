"""What the page's sections on language bias and bitext retrieval show, from the content of `metrics.json`."""

from .charts import bars, heat_map, lines, plane

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
        "maps": {key: heat_maps(select(encoders, key), label, key) for key, label in MAPS.items()},
        "planes": planes(select(encoders, "pca")),
        "charts": charts(encoders, lareqa["languages"]) if lareqa else {},
        "select": select,
        "directed": directed,
        "columns": columns,
    }


def select(encoders, key):
    """`{encoder: its value of key}` of those encoders that have one."""
    return {name: found[key] for name, found in encoders.items() if found.get(key) is not None}


def heat_maps(tables, label, key):
    """`{encoder: SVG}`, shaded on one scale; `key` is the figures' own id."""
    values = [value for rows in tables.values() for row in rows.values() for value in row.values() if value is not None]
    highest = max(values, default=0)
    return {
        name: heat_map(rows, f"{name}: {label}", f"{key}-{number}", highest)
        for number, (name, rows) in enumerate(tables.items())
    }


def charts(encoders, languages):
    """`{analysis: SVG}` of those that are a few numbers an encoder."""
    removed, told = select(encoders, "removed"), select(encoders, "language_id")
    ranks = {name: of["ranks"] for name, of in select(encoders, "lir").items()}
    kept = {
        name: {"all answers": encoders[name]["map"], "−rand": of["rand"], "−same": of["same"]}
        for name, of in removed.items()
    }
    identified = {name: {"all": of["accuracy"], **of["against"]} for name, of in told.items()}
    means = {name: {rank: row["map"] for rank, row in of.items()} for name, of in ranks.items()}
    alone = {name: {lang: row.get(lang) for lang in languages} for name, row in select(encoders, "monolingual").items()}
    chance = max((of["chance"] for of in told.values()), default=None)
    return {
        "removed": bars(kept, "mAP, %", "removed") if kept else "",
        "monolingual": bars(alone, "mAP in a monolingual pool, %", "monolingual") if alone else "",
        "language_id": bars(identified, "accuracy, %", "identified", chance) if identified else "",
        "lir": lines(means, "mAP, %", "lir", "components removed from each language") if means else "",
    }


def planes(found):
    """`{encoder: SVG}` of vectors in the plane."""
    label = "first two principal components of questions and candidates, a panel a language"
    return {
        name: plane(of["points"], f"{name}: {label}", f"plane-{number}")
        for number, (name, of) in enumerate(found.items())
    }


def directed(encoders, direction):
    """`{encoder: {language: share}}` of one direction, "to" the pivot or "from" it."""
    return {name: {lang: of.get(direction) for lang, of in row.items()} for name, row in encoders.items()}


def columns(rows):
    """The languages of all rows, each once, in the order in which they come."""
    return list(dict.fromkeys(language for row in rows.values() for language in row))
