"""Documents that a user has, one by one: files of every format, and folders of them."""
