"""What ``pip install -e DIR...`` comes to, without an index: packages linked, metadata written."""

from __future__ import annotations

import os
import sys
import tomllib
from pathlib import Path


def install(directory: Path, site: Path) -> None:
    """Link the packages of a source tree into ``site`` and write the metadata that makes it a distribution."""
    project = tomllib.loads((directory / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    for package in (directory / "src").iterdir():
        link = site / package.name
        link.unlink(missing_ok=True)
        link.symlink_to(package.resolve())
    info = site / f"{project['name'].replace('-', '_')}-{project['version']}.dist-info"
    info.mkdir(exist_ok=True)
    head = f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
    (info / "METADATA").write_text(head, encoding="utf-8")
    groups = project.get("entry-points", {})
    text = "".join(
        f"[{group}]\n" + "".join(f"{k} = {v}\n" for k, v in points.items()) for group, points in groups.items()
    )
    (info / "entry_points.txt").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    verb, *words = sys.argv[1:]
    assert verb == "install", sys.argv
    for word in words:
        if not word.startswith("-"):
            install(Path(word.partition("[")[0]), Path(os.environ["SITE"]))
