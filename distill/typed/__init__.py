"""Text as people type it: seeded generators."""
