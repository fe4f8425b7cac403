"""What each family of networks is exported as: a folder per family, with the name of its folder in `students/`."""
