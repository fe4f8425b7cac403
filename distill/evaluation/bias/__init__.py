"""Language bias: LAReQA and language information removal."""
