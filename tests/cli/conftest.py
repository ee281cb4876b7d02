"""What tests of the command line share."""

from __future__ import annotations

import pytest

from gert_core.cli import main


@pytest.fixture
def gert(capsys):
    """Runs gert in this process: ``gert("plugins", "list")`` gives exit code, stdout and stderr."""

    def run(*args):
        code = main(list(args))
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run
