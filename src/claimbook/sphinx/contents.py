"""The parts of the book: what the start page lists, and the chapters beneath it."""

from collections.abc import Iterator
from dataclasses import dataclass

from sphinx.addnodes import toctree
from sphinx.environment import BuildEnvironment


@dataclass(frozen=True)
class Part:
    """Pages that stand together in the contents."""

    title: str
    pages: tuple[str, ...]
    """Their docnames, in order; a page that begins the part is the first."""


def parts(env: BuildEnvironment) -> list[Part]:
    """Return the parts of the book in order.

    A page of the start page's contents that has contents of its own is a part, with its own title;
    the others of a list are one, with the list's caption.
    """
    found = list[Part]()
    for tree in env.tocs[env.config.root_doc].findall(toctree):
        alone = list[str]()
        for name in filter(env.titles.__contains__, tree["includefiles"]):  # others are warned of
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
