"""The formats in which an encoder can be exported, one file per format."""
