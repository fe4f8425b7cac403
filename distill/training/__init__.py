"""The training loop that both stages share, with its losses and checkpoints."""
