"""Stage 1 and stage 2: the batches that a teacher and a student learn from."""
