from distill.report.bias_tables import print_bitext, print_lareqa, print_measures


def rows(text):
    return [[cell.strip() for cell in line.strip("│").split("│")] for line in text.splitlines() if line[:1] == "│"]


def used(de, en):
    """What `usage.usage` gives."""
    rows = {
        "de": {"own": de, "other": "en", "other_share": 1 - de},
        "en": {"own": en, "other": "de", "other_share": 1 - en},
    }
    return {"own": (de + en) / 2, "languages": rows}


def analysed(shift=0.0, **changed):
    """What `bias.measure_bias` gives, two languages."""
    ranks = {
        str(rank): {"map": 0.3 + rank / 100 + shift, "languages": {"de": 0.2 + rank / 100, "en": 0.4 + rank / 100}}
        for rank in range(3)
    }
    return {
        "map": 0.3 + shift,
        "languages": {"de": 0.2, "en": 0.4},
        "removed": {"rand": 0.25, "same": 0.2, "delta": 0.2},
        "monolingual": {"de": 0.6, "en": 0.8},
        "share": {"de": {"de": 0.7, "en": 0.3}, "en": {"de": 0.1, "en": 0.9}},
        "first_share": {"de": {"de": 0.75, "en": 0.25}, "en": {"de": 0.0, "en": 1.0}},
        "usage": {"share": used(0.7, 0.9), "first_share": used(0.75, 1.0)},
        "language_id": {"accuracy": 0.95, "chance": 0.5},
        "lir": {"corpus": "the pool's own sentences", "ranks": ranks},
        **changed,
    }


def section(**encoders):
    return {
        "name": "toys",
        "split": "dev",
        "languages": ["de", "en"],
        "questions": {"de": 4, "en": 4},
        "candidates": {"de": 30, "en": 10},
        "top": 100,
        "encoders": encoders,
    }


def test_map_bias_and_removal_have_a_table_each(printed):
    print_lareqa(section(one=analysed(), two=analysed(0.1)))
    out = printed()
    assert "LAReQA, mAP, %: toys, dev, 8" in out and "own sentences" in out
    assert rows(out) == [
        ["one", "multilingual", "20.0", "40.0", "30.0"],
        ["", "monolingual", "60.0", "80.0", "70.0"],
        ["two", "multilingual", "20.0", "40.0", "40.0"],
        ["", "monolingual", "60.0", "80.0", "70.0"],
        # Own language: (.7 + .9) / 2; an even share is (30 + 10) / 2 of 40.
        ["one", "30.0", "25.0", "20.0", "20.0", "80.0", "50.0", "95.0", "50.0"],
        ["two", "40.0", "25.0", "20.0", "20.0", "80.0", "50.0", "95.0", "50.0"],
        ["one", "0", "20.0", "40.0", "30.0"],
        ["one", "1", "21.0", "41.0", "31.0"],
        ["one", "2", "22.0", "42.0", "32.0"],
        ["two", "0", "20.0", "40.0", "40.0"],
        ["two", "1", "21.0", "41.0", "41.0"],
        ["two", "2", "22.0", "42.0", "42.0"],
        # The first 100, then the first.
        *[
            [name, *row]
            for name in ("one", "two")
            for row in (["de", "70.0", "30.0", "en"], ["en", "10.0", "90.0", "de"])
        ],
        *[
            [name, *row]
            for name in ("one", "two")
            for row in (["de", "75.0", "25.0", "en"], ["en", "0.0", "100.0", "de"])
        ],
    ]
    assert "languages of the first 100, %" in out and "languages of the first place, %" in out
    said = "two: the question's own language has 80.0 % of the first 100 (most in en, 90.0, least in de, 70.0)"
    assert f"{said}; most used other: en, of 1 of 2 languages" in out


def test_what_could_not_be_computed_is_empty(printed):
    nothing = {"rand": None, "same": None, "delta": None}
    print_lareqa(section(one=analysed(removed=nothing, language_id=None)))
    assert ["one", "30.0", "", "", "", "80.0", "50.0", "", ""] in rows(printed())


def test_translations_are_said_under_their_task(printed):
    done = {"source": "a.tsv", "questions": {"de": 3, "th": 2}, "as_they_are": {"th": 1}, "candidates": 0}
    print_measures({"lareqa": {**section(one=analysed()), "translations": done}})
    assert printed().endswith("lareqa: questions translated by a.tsv: de 3, th 2; asked as they are: th 1\n")
    more = {"translations": {**done, "as_they_are": {}, "candidates": 7}, "timings": {"translation_ms": 1.25}}
    print_measures({"lareqa": {**section(one=analysed()), **more}})
    assert printed().endswith("by a.tsv: de 3, th 2; and 7 sentences; 1.2 ms a question, in batches\n")


def test_bitext_has_a_row_a_direction(printed):
    encoders = {"one": {"de": {"to": 0.5, "from": 0.25}, "th": {"to": 1.0, "from": 0.75}}}
    print_bitext({"name": "lines", "pivot": "en", "sentences": 8, "encoders": encoders})
    out = printed()
    assert "lines, 8" in out
    assert rows(out) == [["one", "→ en", "50.0", "100.0", "75.0"], ["one", "en →", "25.0", "75.0", "50.0"]]


def test_each_task_is_printed_as_its_own(printed):
    encoders = {"one": {"de": {"to": 0.5, "from": 0.25}}}
    bitext = {"name": "lines", "pivot": "en", "sentences": 8, "encoders": encoders}
    print_measures({"bitext": bitext, "lareqa": section(one=analysed())})
    out = printed()
    assert out.index("bitext retrieval") < out.index("LAReQA")
