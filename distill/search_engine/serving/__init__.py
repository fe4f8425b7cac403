"""Serve an encoder and an index of documents over HTTP: `distill serve`."""
