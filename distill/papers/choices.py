"""Names that `distill papers` takes, which its help shows without importing what computes tables."""

# The recipe of the authors' settings, and ours after it.
AUTHORS, LINEAR = RECIPES = "paper", "paper-linear"
# The tables by paper: those that are written by default, and all.
FIRST = {"cl-relkt": ("3", "7", "8"), "lareqa": ("2", "3", "4", "5.4"), "lir": ("1", "4", "5"), "sentri": ("1", "6")}
TABLES = {**FIRST, "cl-relkt": ("3", "6", "7", "8", "11a", "11b", "11d")}
# Endings of files by format.
FORMATS = {"markdown": ".md", "csv": ".csv", "latex": ".tex"}
