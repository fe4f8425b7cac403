"""Search documents: files in, an index out, and passages for a question. A guest: commands and jobs alone call it."""
