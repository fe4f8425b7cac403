"""Whose languages' passages are used: the question's own, and which other (Sentri, section 5.1)."""


def usage(share):
    """`{"own", "languages": {question language: {"own", "other", "other_share"}}}` of `Lareqa.share`'s rows.

    `own`, the self-usage, is the share of the question's own language, over all its mean over languages; `other` is the
    most used other language, the first of those that are used alike, None where there is none.
    """
    rows = {language: _row(language, of) for language, of in share.items()}
    return {"own": sum(row["own"] for row in rows.values()) / len(rows), "languages": rows}


def _row(language, of):
    others = {name: value for name, value in of.items() if name != language}
    most = max(others, key=others.__getitem__, default=None)
    return {"own": of[language], "other": most, "other_share": others.get(most)}
