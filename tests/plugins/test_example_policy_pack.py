"""The example policy pack keeps its promises in the main suite too."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

PACK = Path(__file__).parents[2] / "examples" / "policy_pack"


def test_the_tests_of_the_example_pass():
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", str(PACK / "tests")]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=PACK)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "5 passed" in done.stdout
