"""Lay out lab pages: titled figures first, then their code folded; add thumbnails for dark mode."""

import re
from collections.abc import Iterator
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

from claimbook.pages.text import curly
from claimbook.sphinx import render

THUMBNAIL = re.compile(r"/thumb/(sphx_glr_.+)_thumb\.svg$")


def connect(app: Sphinx) -> None:
    """Change pages before Sphinx collects their images."""
    app.connect("doctree-read", _lay_out, priority=100)


def _lay_out(app: Sphinx, doctree: nodes.document) -> None:
    for image in list(doctree.findall(nodes.image)):
        image.parent.insert(image.parent.index(image) + 1, list(_on_dark(app.env, image)))
    for code in list(doctree.findall(nodes.literal_block)):
        if pictures := list(_drawn_by(code)):
            _put_first(code, pictures)
    for picture in list(doctree.findall(nodes.image)):
        if "lab-figure" in picture["classes"]:
            _frame(picture)


def _on_dark(env: BuildEnvironment, thumbnail: nodes.image) -> Iterator[nodes.image]:
    """Yield the dark-mode thumbnail of a lab, if it exists."""
    address = thumbnail["uri"]
    if found := THUMBNAIL.search(address):
        dark = THUMBNAIL.sub(rf"/{found[1]}_001_dark.svg", address)
        if Path(env.srcdir, dark.lstrip("/")).exists():
            thumbnail["classes"].append("only-light")
            yield nodes.image("", uri=dark, alt=thumbnail.get("alt", ""), classes=["only-dark"])


def _drawn_by(code: nodes.literal_block) -> Iterator[nodes.image]:
    """Yield the figures of a lab below the code that drew them."""
    for node in code.parent.children[code.parent.index(code) + 1 :]:
        if not (isinstance(node, nodes.image) and "lab-figure" in node["classes"]):
            return
        yield node


def _put_first(code: nodes.literal_block, pictures: list[nodes.image]) -> None:
    """Move figures above the code, and fold the code."""
    for picture in pictures:
        code.parent.remove(picture)
        code.parent.insert(code.parent.index(code), picture)
    parent, place = code.parent, code.parent.index(code)
    parent[place] = render.fold("How it is made", "lab-code", code)


def _frame(picture: nodes.image) -> None:
    """Put a figure between its title and its caption; it has four versions, the first one wide.

    The caption is not in the alt text too, or screen readers would say it twice.
    """
    place, parent = picture.parent.index(picture), picture.parent
    on_phone = {"on-phone"} & {*picture["classes"]}
    box = nodes.container("", picture, classes=["lab-picture", *on_phone])
    framed: list[nodes.Element] = [box]
    title, _, caption = picture["alt"].partition(". ")
    if caption:
        picture["alt"] = title
        dark = "only-dark" in picture["classes"]
        if dark and on_phone:
            framed.append(nodes.paragraph("", curly(caption), classes=["lab-caption"]))
        elif not (dark or on_phone):
            framed.insert(0, nodes.paragraph("", "", nodes.strong("", curly(title))))
    parent[place : place + 1] = framed
