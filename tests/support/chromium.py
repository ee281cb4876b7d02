"""How Chromium is started for tests: without a window, without a profile of somebody's, and quiet on the network."""

from __future__ import annotations

FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
