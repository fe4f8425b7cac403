"""Measures of how good an encoder is: vectors and the right answers come in, figures and their significance come out.

`tasks` holds one file per task, and `bench` measures milliseconds. Jobs, reports and commands call them.
"""
