"""`distill run`: its stages in order, its folder, going on after a stop."""
