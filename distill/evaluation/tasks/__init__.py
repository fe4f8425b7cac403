"""Evaluation tasks, one a file: its data, its measure, its table and its section of the page."""
