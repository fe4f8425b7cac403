"""Small multilingual sentence encoders for retrieval question answering."""

from pathlib import Path

__version__ = "0.1.0"

# In a checkout the sub-packages stand beside this folder, not inside it.
_checkout = Path(__file__).resolve().parent.parent
if (_checkout / "setup.cfg").is_file():
    __path__.append(str(_checkout))
