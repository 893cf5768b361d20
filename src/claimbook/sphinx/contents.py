"""The parts of the book, from the contents of the start page, and what each page is about."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from sphinx.addnodes import toctree
from sphinx.environment import BuildEnvironment


@dataclass(frozen=True)
class Part:
    """A group of pages in the contents."""

    title: str
    pages: tuple[str, ...]
    """Their docnames, in order; the part's own page, if any, comes first."""


def parts(env: BuildEnvironment) -> list[Part]:
    """Return the parts of the book in order.

    A page listed on the start page is a part of its own if it lists other pages; the other pages of
    a list are one part, with the list's caption as title.
    """
    found = list[Part]()
    for tree in env.tocs[env.config.root_doc].findall(toctree):
        alone = list[str]()
        for name in filter(env.titles.__contains__, tree["includefiles"]):  # Sphinx warns of others
            if env.toctree_includes.get(name):
                found.append(Part(env.titles[name].astext(), (name, *_below(env, name))))
            else:
                alone.append(name)
        if alone:
            found.append(Part(tree["caption"] or "", tuple(alone)))
    return found


def _below(env: BuildEnvironment, name: str) -> Iterator[str]:
    for child in filter(env.titles.__contains__, env.toctree_includes.get(name, ())):
        yield child
        yield from _below(env, child)


def summary(env: BuildEnvironment, page: str) -> str:
    """Return the first paragraph of a page as text; a reference to a page is its title."""

    def titled(name: re.Match[str]) -> str:
        return env.titles[name[1]].astext() if name[1] in env.titles else name[0]

    return re.sub(r"(?<!\w)/([\w/-]+)", titled, env.metadata[page].get("summary", ""))
