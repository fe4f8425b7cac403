"""A language that an encoder gets when it is there already."""
