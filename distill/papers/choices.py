"""Names that `distill papers` takes, which its help shows without importing what computes tables."""

# The recipe of the authors' settings, and ours after it.
AUTHORS, LINEAR = RECIPES = "paper", "paper-linear"
# Tables that need no training beside those of the teacher and the student, and those that do.
FIRST = ("3", "7", "8")
TABLES = ("3", "6", "7", "8", "11a", "11b", "11d")
# Endings of files by format.
FORMATS = {"markdown": ".md", "csv": ".csv", "latex": ".tex"}
