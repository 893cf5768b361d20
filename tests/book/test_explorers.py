"""The explorers say what torch says, in all drawn cases; and a change of their rules is noticed."""

import gzip
import json
import shutil

import pytest

from explorers import agreement

needs_node = pytest.mark.skipif(
    not shutil.which("node"), reason="there is no node here; nox -s browser compares in Chromium"
)


@needs_node
@pytest.mark.parametrize("name", agreement.EXPLORERS)
def test_torch_agrees(name):
    """All that is shown is what torch answers, in as many cases as find each change below.

    `python tests/explorers` compares more, and keeps how many agreed for the rule as it stands.
    """
    count = agreement.enough(name, agreement.ask_node)
    assert count
    found = agreement.differences(name, agreement.ask_node, count=count)
    assert not found, f"{len(found)} differ, first: {found[0]}"


@needs_node
@pytest.mark.parametrize("name", agreement.EXPLORERS)
def test_mutants_are_caught(name):
    """No change of a rule goes unnoticed."""
    assert agreement.uncaught(name, agreement.ask_node) == []


@pytest.mark.parametrize("name", agreement.EXPLORERS)
def test_record_is_of_this_rule(name):
    """The number on the page is of the rule that the page has."""
    kept = json.loads(agreement.RECORD.read_text("utf-8"))[name]
    assert kept["rule"] == agreement.digest(name), "python tests/explorers compares anew"
    assert kept["cases"] == kept["agreed"] == agreement.count_of(name)


@pytest.mark.parametrize("name", agreement.EXPLORERS)
def test_weight(name):
    """What a page loads for an explorer stays below 25 kB."""
    files = ["rule.js", "explorer.js", "explorers.css", f"{name}.js", f"{name}-rule.js"]
    sizes = [len(gzip.compress((agreement.SCRIPTS / file).read_bytes())) for file in files]
    assert sum(sizes) < 25_000
