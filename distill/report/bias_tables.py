"""What `distill evaluate` prints of the tasks lareqa and bitext."""

from collections import Counter

from rich.text import Text

from ..retrieval.metrics import mean_of
from .layout import new_console, new_table, percents
from .score_tables import print_evaluations


def print_measures(found):
    """A table or more of each task that `measures.measure_all` measured."""
    for task, part in found.items():
        PRINTERS[task](part)
        if "translations" in part:
            new_console().print(Text(f"{task}: {_translations_line(part)}"), soft_wrap=True)


def print_lareqa(found):
    """mAP by language, what tells of bias, and what language information removal changes."""
    console = new_console()
    console.print(_map_table(found))
    console.print(_bias_table(found))
    console.print(_removal_table(found))
    for key, places in (("share", f"the first {found['top']}"), ("first_share", "the first place")):
        console.print(_usage_table(found, key, places))
    for name, row in found["encoders"].items():
        console.print(Text(f"{name}: {_usage_line(row['usage']['share'], found['top'])}"), soft_wrap=True)
    console.print("mAP by question and answer language, principal components: --json, or --report for figures")


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


def _translations_line(found):
    done, timings = found["translations"], found.get("timings", {})
    counts = ", ".join(f"{language} {count}" for language, count in done["questions"].items())
    left = ", ".join(f"{language} {count}" for language, count in done["as_they_are"].items())
    more = f"; asked as they are: {left}" if left else ""
    more += f"; and {done['candidates']} sentences" if done["candidates"] else ""
    more += f"; {timings['translation_ms']:.1f} ms a question, in batches" if timings else ""
    return f"questions translated by {done['source']}: {counts}{more}"


def _usage_table(found, key, places):
    """Sentri's Table 7: a row sums to 100."""
    languages = found["languages"]
    table = new_table(f"languages of {places}, %", "encoder", "question", *languages, "most used other")
    for name, row in found["encoders"].items():
        for language, of in row[key].items():
            other = row["usage"][key]["languages"][language]["other"] or ""
            values = percents(of[answered] for answered in languages)
            table.add_row(Text(name), language, *values, other, end_section=language == languages[-1])
    return table


def _usage_line(used, top):
    rows = used["languages"]
    most, least = (pick(rows, key=lambda language: rows[language]["own"]) for pick in (max, min))
    counted = Counter(row["other"] for row in rows.values() if row["other"]).most_common(1)
    said = f"the question's own language has {100 * used['own']:.1f} % of the first {top}"
    ends = ", ".join(f"{word} in {of}, {100 * rows[of]['own']:.1f}" for word, of in (("most", most), ("least", least)))
    others = "".join(f"; most used other: {other}, of {times} of {len(rows)} languages" for other, times in counted)
    return f"{said} ({ends}){others}"


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
