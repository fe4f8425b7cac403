"""Print how many lines the tests ran, by folder; fail if the share is below `fail_under` of setup.cfg."""

import sys
from pathlib import Path

from coverage import Coverage

ROOT = Path(__file__).resolve().parent.parent
WIDTH = 10


def sources(coverage):
    """List every file in the source folders, even those never imported, except those that are omitted."""
    files = [path for name in coverage.get_option("run:source") for path in sorted((ROOT / name).rglob("*.py"))]
    left_out = coverage.get_option("run:omit")
    return [path for path in files if not any(path.relative_to(ROOT).match(pattern) for pattern in left_out)]


def counted(coverage, paths):
    """Count the lines of files and those that were run, `{folder: (lines, run)}`."""
    found = {name: (0, 0) for name in coverage.get_option("run:source")}
    for path in paths:
        _, lines, _, missing, _ = coverage.analysis2(str(path))
        folder = path.relative_to(ROOT).parts[0]
        before, ran = found[folder]
        found[folder] = before + len(lines), ran + len(lines) - len(missing)
    return found


def table(found):
    """Format a row per folder and one for all, and return them with the overall share in per cent."""
    lines, ran = (sum(numbers) for numbers in zip(*found.values(), strict=True))
    rows = {**found, "total": (lines, ran)}
    head = f"{'coverage':<{WIDTH}}{'lines':>{WIDTH}}{'run':>{WIDTH}}{'%':>{WIDTH}}"
    text = [f"{n:<{WIDTH}}{a:>{WIDTH}}{b:>{WIDTH}}{100 * b / max(1, a):>{WIDTH}.1f}" for n, (a, b) in rows.items()]
    return "\n".join([head, *text]), 100 * ran / max(1, lines)


if __name__ == "__main__":
    coverage = Coverage(data_file=Path(sys.argv[1]) / "lines", config_file=ROOT / "setup.cfg")
    coverage.combine([sys.argv[1]])
    text, share = table(counted(coverage, sources(coverage)))
    print(text)
    least = coverage.get_option("report:fail_under")
    if share < least:
        sys.exit(f"{share:.1f} % of the lines are run by the tests, expected at least {least:g} %")
