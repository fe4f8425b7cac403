"""What `distill evaluate` prints of the tasks lareqa and bitext."""

from rich.text import Text

from .metrics import mean_of
from .tables import new_console, new_table, percents, print_evaluations


def print_measures(found):
    """A table or more of each task that `measures.measure_all` measured."""
    for task, part in found.items():
        PRINTERS[task](part)


def print_lareqa(found):
    """mAP by language, what tells of bias, and what language information removal changes."""
    console = new_console()
    console.print(_map_table(found))
    console.print(_bias_table(found))
    console.print(_removal_table(found))
    console.print(
        "question language x answer language, shares and principal components: --json, or --report for figures"
    )


def _place(found):
    questions, candidates = (sum(found[key].values()) for key in ("questions", "candidates"))
    return f"{found['name']}, {found['split']}, {questions} questions, {candidates} sentences"


def _map_table(found):
    languages = found["languages"]
    table = new_table(f"LAReQA, mAP, %: {_place(found)}", "encoder", "pool", *languages, "all")
    for name, row in found["encoders"].items():
        table.add_row(Text(name), "multilingual", *percents([*row["languages"].values(), row["map"]]))
        alone = row["monolingual"].values()
        table.add_row("", "monolingual", *percents([*alone, mean_of(alone)]), end_section=True)
    return table


def _bias_table(found):
    heads = (
        "mAP",
        "-rand",
        "-same",
        "Δ, %",
        f"own language\nin first {found['top']}",
        "even\nshare",
        "language\nidentified",
        "chance",
    )
    table = new_table("language bias, %", "encoder", *heads)
    share = {language: count / sum(found["candidates"].values()) for language, count in found["candidates"].items()}
    for name, row in found["encoders"].items():
        removed, told = row["removed"], row["language_id"] or {"accuracy": None, "chance": None}
        own = mean_of(of[language] for language, of in row["share"].items())
        values = (row["map"], removed["rand"], removed["same"], removed["delta"], own, mean_of(share.values()))
        table.add_row(Text(name), *percents([*values, told["accuracy"], told["chance"]]))
    return table


def _removal_table(found):
    languages = found["languages"]
    corpora = {row["lir"]["corpus"] for row in found["encoders"].values()}
    title = f"LIR, mAP, %: r directions of each language removed, learned from {', '.join(corpora)}"
    table = new_table(title, "encoder", "r", *languages, "all")
    for name, row in found["encoders"].items():
        for rank, figures in row["lir"]["ranks"].items():
            values = percents([*figures["languages"].values(), figures["map"]])
            table.add_row(Text(name), rank, *values, end_section=rank == list(row["lir"]["ranks"])[-1])
    return table


def print_bitext(found):
    """Accuracy by language, in both directions."""
    pivot, encoders = found["pivot"], found["encoders"]
    languages = list(next(iter(encoders.values())))
    title = f"bitext retrieval, accuracy, %: {found['name']}, {found['sentences']} sentences"
    table = new_table(title, "encoder", "direction", *languages, "mean")
    for name, row in encoders.items():
        for way, arrow in (("to", f"→ {pivot}"), ("from", f"{pivot} →")):
            values = [row[language][way] for language in languages]
            table.add_row(Text(name), arrow, *percents([*values, mean_of(values)]), end_section=way == "from")
    new_console().print(table)


PRINTERS = {"retrieval": print_evaluations, "lareqa": print_lareqa, "bitext": print_bitext}
