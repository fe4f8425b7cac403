"""One loop, its losses, its checkpoints."""
