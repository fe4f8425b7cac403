"""Export students to other runtimes: formats, the gate that checks an artefact, and its card."""
