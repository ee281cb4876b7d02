"""Discovery reads metadata only, once per process, and agrees with importlib_metadata."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile

import importlib_metadata

from gert_core.plugin import discovery
from gert_core.plugin.discovery import normalise, scan


def found(path):
    return {(c.name, c.distribution, c.version, c.group, c.target) for c in scan([str(p) for p in path])}


def test_an_installed_distribution_is_found_without_importing_it(fake_dist):
    fake_dist.add("Gert_Step.Nap", "raise AssertionError('imported')\n", version="1.2+acme")
    assert found([fake_dist.directory]) == {
        ("step-nap", "gert-step-nap", "1.2+acme", "gert.v0", "gert_step_nap"),
    }
    assert "gert_step_nap" not in sys.modules


def test_names_are_normalised_as_pep_503_says():
    assert normalise("Gert__Step.-Nap") == "gert-step-nap"


def test_the_first_copy_on_the_path_counts(tmp_path, fake_dist):
    from gert_core.testing import FakeDist

    later = FakeDist(directory=tmp_path / "later")
    later.add("gert-step-nap", version="2.0")
    later.add("gert-step-other", version="2.0")
    fake_dist.add("gert-step-nap", version="1.0")
    both = [fake_dist.directory, later.directory]
    assert {(c[1], c[2]) for c in found(both)} == {("gert-step-nap", "1.0"), ("gert-step-other", "2.0")}
    assert {(c[1], c[2]) for c in found(reversed(both))} == {("gert-step-nap", "2.0"), ("gert-step-other", "2.0")}


def test_a_copy_without_entry_points_shadows_too(tmp_path, fake_dist):
    fake_dist.add("gert-step-nap")
    first = tmp_path / "first"
    (first / "gert_step_nap-0.9.dist-info").mkdir(parents=True)
    assert found([first, fake_dist.directory]) == set()


def test_entry_points_are_parsed_like_the_format_says(fake_dist):
    fake_dist.add("gert-step-nap")
    file = fake_dist.directory / "gert_step_nap-1.0.dist-info" / "entry_points.txt"
    file.write_text(
        "# a comment\n[console_scripts]\nwait = a:b\n\n[gert.v0]\n; another\n one=pkg.mod:attr [extra]\ntwo  =  pkg\n"
        "[gert.v9]\nthree=x\n[gert]\nfour=x\n"
    )
    assert {(c[0], c[3], c[4]) for c in found([fake_dist.directory])} == {
        ("one", "gert.v0", "pkg.mod:attr"),
        ("two", "gert.v0", "pkg"),
        ("three", "gert.v9", "x"),
    }


def test_an_old_style_egg_info_is_read(tmp_path):
    folder = tmp_path / "Gert_Step_Old.egg-info"
    folder.mkdir()
    (folder / "entry_points.txt").write_text("[gert.v0]\nstep-old = old\n")
    (folder / "PKG-INFO").write_text("Metadata-Version: 1.0\nName: Gert_Step_Old\nVersion: 3.1\n\nVersion: no\n")
    assert found([tmp_path]) == {("step-old", "gert-step-old", "3.1", "gert.v0", "old")}


def test_a_zip_on_the_path_is_searched_too(tmp_path, fake_dist):
    fake_dist.add("gert-step-plain")
    archive = tmp_path / "plugins.zip"
    with zipfile.ZipFile(archive, "w") as z:
        z.writestr("gert_step_zip-1.5.dist-info/METADATA", "Metadata-Version: 2.1\nName: gert-step-zip\nVersion: 1.5\n")
        z.writestr("gert_step_zip-1.5.dist-info/entry_points.txt", "[gert.v0]\nstep-zip = zipped\n")
    assert {(c[1], c[2]) for c in found([fake_dist.directory, archive])} == {
        ("gert-step-plain", "1.0"),
        ("gert-step-zip", "1.5"),
    }


def test_missing_and_unreadable_places_are_skipped(tmp_path, fake_dist):
    fake_dist.add("gert-step-nap")
    broken = fake_dist.directory / "broken-1.0.dist-info"
    broken.mkdir()
    (broken / "entry_points.txt").write_bytes(b"\xff\xfe[gert.v0]\n")
    assert {c[1] for c in found([tmp_path / "nowhere", fake_dist.directory])} == {"gert-step-nap"}


def test_the_fast_way_agrees_with_importlib_metadata():
    expected = {
        (ep.name, normalise(ep.dist.name), ep.dist.version, ep.group, ep.value)
        for ep in importlib_metadata.entry_points()
        if ep.group.startswith("gert.v")
    }
    ours = {(c.name, c.distribution, c.version, c.group, c.target) for c in scan()}
    assert ours == expected


def test_one_scan_serves_the_process(fake_dist, monkeypatch):
    fake_dist.add("gert-step-nap")
    calls = []
    real = os.listdir
    monkeypatch.setattr(discovery.os, "listdir", lambda place: calls.append(place) or real(place))
    scan()
    scan()
    assert calls.count(str(fake_dist.directory)) == 1
    fake_dist.add("gert-step-new")
    assert "gert-step-new" in {c.distribution for c in scan()}


def test_plain_directories_need_no_metadata_library():
    code = (
        "import sys; from gert_core.plugin.discovery import scan; scan();"
        "print([m for m in sys.modules if m.startswith(('importlib_metadata', 'importlib.metadata', 'email'))])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_name_written_with_hyphens_is_read_whole(tmp_path):
    folder = tmp_path / "gert-step-own-1.2.dist-info"
    folder.mkdir()
    (folder / "entry_points.txt").write_text("[gert.v0]\nstep-own = own\n")
    assert found([tmp_path]) == {("step-own", "gert-step-own", "1.2", "gert.v0", "own")}
