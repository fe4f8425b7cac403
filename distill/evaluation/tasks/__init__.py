"""Evaluation tasks, one per file: its data, its measure, its table and its section of the page."""
