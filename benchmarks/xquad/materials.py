"""Prepare text for the configs in this folder as `--parallel` reads it: NTREX as `{lang}.txt`, and a dictionary.

    python benchmarks/xquad/materials.py --ntrex path/to/ntrex --wiktionary path/to/wiktionary-dict --output materials

NTREX-128 (Federmann et al., 2022): `newstest2019-src.eng.txt` and `newstest2019-ref.<code>.txt`. The dictionary: files
`en-<lang>.tsv` of Wiktionary's head words, "en<TAB>translation | translation", of which `--translations` are taken.
"""

import argparse
from pathlib import Path

CODES = {
    "src.eng": "en",
    "ref.arb": "ar",
    "ref.deu": "de",
    "ref.ell": "el",
    "ref.spa": "es",
    "ref.hin": "hi",
    "ref.ron": "ro",
    "ref.rus": "ru",
    "ref.tha": "th",
    "ref.tur": "tr",
    "ref.vie": "vi",
    "ref.zho-CN": "zh",
}


def main():
    options = parse()
    output = Path(options.output)
    (output / "ntrex").mkdir(parents=True, exist_ok=True)
    for code, language in CODES.items():
        source = Path(options.ntrex) / f"newstest2019-{code}.txt"
        (output / "ntrex" / f"{language}.txt").write_bytes(source.read_bytes())
    languages, rows = dictionary(Path(options.wiktionary), options.translations)
    (output / "wiktionary.tsv").write_text(table(languages, rows), encoding="utf-8")
    print(f"{output}: NTREX in {len(CODES)} languages, {len(rows)} rows of a dictionary in {len(languages)} languages")


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ntrex", required=True)
    parser.add_argument("--wiktionary", required=True)
    parser.add_argument("--translations", type=int, default=3, help="of a head word, at most")
    parser.add_argument("--output", default="materials")
    return parser.parse_args()


def dictionary(folder, most):
    """Return the languages, and `{(head word, n): {language: its n-th translation}}`."""
    wanted = [language for language in sorted(CODES.values()) if (folder / f"en-{language}.tsv").is_file()]
    rows = {}
    for language in wanted:
        for line in (folder / f"en-{language}.tsv").read_text(encoding="utf-8").splitlines()[1:]:
            word, _, translations = line.partition("\t")
            for place, translation in enumerate(translations.split(" | ")[:most]):
                rows.setdefault((word, place), {})[language] = translation.strip()
    return wanted, rows


def table(languages, rows):
    lines = ["\t".join(["en", *languages])]
    lines += ["\t".join([word, *(row.get(each, "") for each in languages)]) for (word, _), row in rows.items()]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
