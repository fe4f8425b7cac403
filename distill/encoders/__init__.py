"""Encoders: text comes in, unit vectors come out, whatever the encoder is made of.

`catalog` finds one by the name that a user gives, and `files` encodes any number of texts. Everything else calls these.
"""
