"""What is shown: tables on a terminal, pages, charts."""
