"""Results shown: tables on a terminal, pages, charts."""
