"""Whole jobs: settings or an encoder come in, a run's folder or another encoder comes out.

Commands only parse for them and print, and the package's face gives them to programs. `run` is the first to read.
"""
