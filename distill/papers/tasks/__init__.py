"""Tasks of the papers: LAReQA, classification with language information removal, and reading comprehension."""
