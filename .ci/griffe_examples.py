"""What griffe, which reads docstrings for the API reference, calls "Examples:" is "Example:" where there is one."""

import griffe


class SingleExample(griffe.Extension):
    def on_instance(self, *, obj, **kwargs):
        if obj.docstring:
            obj.docstring.value = obj.docstring.value.replace("Example:\n", "Examples:\n")
