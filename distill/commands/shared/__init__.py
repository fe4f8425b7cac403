"""Options, help and reports of progress that commands share."""
