"""`docs/settings.md` is what `.ci/settings_page.py` makes of the fields."""

import runpy
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_the_page_is_of_the_fields():
    script = runpy.run_path(str(ROOT / ".ci" / "settings_page.py"))
    text = (ROOT / "docs" / "settings.md").read_text(encoding="utf-8")
    assert text == script["page"](), "write docs/settings.md anew: python .ci/settings_page.py"
    row = next(line for line in text.splitlines() if line.startswith("|`gamma`|"))
    assert "`100.0`" in row
