"""An encoder learns a collection of documents that nobody has asked about."""
