"""A folder that another process works in, with a real one."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from distill.errors import InputError
from distill.system.files import LOCK, hold_lock, lock_folder, require_free

HOLD = """
import sys, time
from distill.system.files import lock_folder
with lock_folder(sys.argv[1]):
    print("held", flush=True)
    time.sleep(60)
"""


@pytest.fixture
def holder(tmp_path):
    process = subprocess.Popen([sys.executable, "-c", HOLD, tmp_path], stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "held\n"
    yield process
    process.kill()
    process.wait()
    process.stdout.close()


def test_a_folder_in_use_is_refused_and_a_process_that_is_killed_holds_nothing(holder, tmp_path):
    for use in (require_free, lambda folder: lock_folder(folder).__enter__()):
        with pytest.raises(InputError, match=re.escape(str(tmp_path))):
            use(tmp_path)
    holder.send_signal(signal.SIGKILL)
    holder.wait()
    require_free(tmp_path)
    with lock_folder(tmp_path):
        pass


def test_nothing_is_left_when_it_ends_well_or_after_an_error(tmp_path):
    with lock_folder(tmp_path):
        assert [path.name for path in tmp_path.iterdir()] == [LOCK]
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(ZeroDivisionError), lock_folder(tmp_path):
        1 / 0  # noqa: B018
    assert list(tmp_path.iterdir()) == []
    require_free(tmp_path)


def test_a_folder_that_may_not_be_written_to_is_wrong_input(tmp_path):
    # Nobody makes a file in /sys, which root may do in any other folder.
    folder = Path("/sys") if os.geteuid() == 0 else tmp_path
    if folder != tmp_path and not folder.is_dir():
        pytest.skip("no folder that root may not write to")
    tmp_path.chmod(0o555)
    try:
        with pytest.raises(InputError, match=f"cannot write to {folder}: "), hold_lock(folder / LOCK, "in use"):
            pass
    finally:
        tmp_path.chmod(0o755)
