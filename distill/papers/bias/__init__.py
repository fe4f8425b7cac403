"""Language bias of an encoder: LAReQA and language information removal."""
