"""Training: batches and the vectors of a teacher come in, weights come out, by one loop for both stages.

`stages` holds what stage 1 and stage 2 learn, and `losses` their formulas. Jobs call it.
"""
