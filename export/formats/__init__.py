"""Artefact formats, one file a family: how a format is written, loaded and described."""
