"""``python -m gert_core`` is the command line."""

from __future__ import annotations

import sys

from gert_core.cli import main

sys.exit(main())
