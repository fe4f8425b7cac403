"""Write an index in a layout for ranges, `clusters.bin`, of which a page loads the parts that a question needs."""
