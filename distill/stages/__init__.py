"""Stage 1 and stage 2: what a batch is made of."""
