"""Heavy parts are named as text and imported on first use."""

from __future__ import annotations

import json

import pytest

from gert_core.api import PluginError
from gert_core.plugin.lazy import load_target


def test_an_object_is_itself():
    assert load_target(json.dumps) is json.dumps


def test_a_text_is_imported_and_kept():
    assert load_target("json:dumps") is json.dumps
    assert load_target("json.decoder:JSONDecoder.decode") is json.JSONDecoder.decode


@pytest.mark.parametrize(
    "target", ["json", "json:", ":dumps", "json:nothing_like_that", "no_such_package.module:attribute", ""]
)
def test_what_cannot_be_loaded_is_named(target):
    with pytest.raises(PluginError) as caught:
        load_target(target)
    assert repr(target) in caught.value.message
    assert caught.value.exit_code == 3


def test_a_failing_import_is_tried_again(fake_dist):
    fake_dist.add("gert-lazy-once", "def broken(:\n")
    with pytest.raises(PluginError, match="SyntaxError"):
        load_target("gert_lazy_once:value")
    fake_dist.add("gert-lazy-once", "value = 3  # mended\n")
    assert load_target("gert_lazy_once:value") == 3


def test_a_module_that_a_plugin_needs_and_does_not_find_is_named(fake_dist):
    fake_dist.add("gert-lazy-driver", "import no_such_driver.core\n")
    with pytest.raises(PluginError) as caught:
        load_target("gert_lazy_driver:open_store")
    assert caught.value.message.endswith("it needs the Python module 'no_such_driver', which is not installed")
    assert (
        caught.value.hint == "install it into gert's environment, or install the plugin again with what it depends on"
    )
