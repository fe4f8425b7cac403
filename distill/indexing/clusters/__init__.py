"""An index laid out for ranges, `clusters.bin`, of which a page loads the parts that a question needs."""
