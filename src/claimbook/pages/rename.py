"""Gives a claim or a page another name, wherever a file of the project names it."""

import os
import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from claimbook.files import write_atomically
from claimbook.pages.book import Project

KINDS = {".md", ".py", ".rst", ".yaml", ".yml", ".toml", ".txt"}
"""How the names of files end that may name a claim or a page."""

_LINK = re.compile(r"(?<=\]\()(?P<name>[^\s()#:]+)(?=[#)])")
_ROLE = re.compile(r"(?<=\{doc\}`|:doc:`)(?P<title>[^`<]*<)?(?P<name>[^`>]+)")
_LISTS = re.compile(
    r"^(?P<fence>`{3,}|:{3,})\{(?:toctree|route|overview|questions)\}.*?^(?P=fence)\s*$",
    re.MULTILINE | re.DOTALL,
)
_LINE = re.compile(
    r"^(?P<title>[^<\n]*<)?(?P<name>[\w./-]+)(?=(?:#[\w-]+)?(?: [\w.-]+)?>?\s*$)", re.MULTILINE
)


def rename_claim(project: Project, old: str, new: str) -> list[Path]:
    """Replace a claim's id wherever it stands alone; return the files that changed.

    An id of one word may be a word of a sentence: it is replaced where a claim or a link is named.
    """
    before = (
        r"(?<![\w-])(?:claim-)?" if "-" in old else r"(?:\{claim\} |\{claim\}`(?:[^`<]*<)?|claim-)"
    )
    name = re.compile(rf"({before}){re.escape(old)}(?![\w-])")
    sweep = re.compile(rf"(?<=^def ){old.replace('-', '_')}(?=\()", re.MULTILINE)

    def renamed(path: Path, text: str) -> str:
        if path.parent == project.docs / "sweeps":  # a function is named as its claim
            text = sweep.sub(new.replace("-", "_"), text)
        return name.sub(rf"\g<1>{new}", text)

    return _rewrite(project, renamed)


def rename_page(project: Project, old: Path, new: Path) -> list[Path]:
    """Move a page, if it is not yet moved, and lead links to it; return the files that changed."""
    if old.exists():
        write_atomically(new, _links(_text(old), partial(_from_elsewhere, project, old, new)))
        old.unlink()
    return [new, *_rewrite(project, partial(_follow, project, old, new))]


def _rewrite(project: Project, change: Callable[[Path, str], str]) -> list[Path]:
    changed = []
    for path in _files(project):
        if (after := change(path, text := _text(path))) != text:
            write_atomically(path, after)
            changed.append(path)
    return changed


def _text(path: Path) -> str:
    """Return a file as text, whatever it holds; `write_atomically` puts each byte back."""
    return path.read_bytes().decode("utf-8", "surrogateescape")


def _files(project: Project) -> Iterator[Path]:
    """Yield the files of a project that somebody wrote: none that is hidden, made or a record."""
    made = {project.docs / name for name in (*project.ignored, "_build", "records")}
    for folder, folders, names in os.walk(project.root):
        here = Path(folder)
        folders[:] = [n for n in sorted(folders) if n[0] not in "._" and here / n not in made]
        yield from (here / n for n in sorted(names) if Path(n).suffix in KINDS and n[0] != ".")


def _links(text: str, lead: Callable[[str, str], str]) -> str:
    """Return a text with its links led elsewhere.

    Args:
        lead: what stands in place of a link, by its words and what they are: path or name.
    """

    def path(link: re.Match[str]) -> str:
        return lead(link["name"], "path")

    def name(link: re.Match[str]) -> str:
        return (link["title"] or "") + lead(link["name"], "name")

    text = _ROLE.sub(name, _LINK.sub(path, text))
    return _LISTS.sub(lambda found: _LINE.sub(name, found[0]), text)


def _from_elsewhere(project: Project, old: Path, new: Path, name: str, kind: str) -> str:
    """Return a link of a page that moves, leading to the same file from its new place."""
    target = (old.parent / name) if kind == "path" else (old.parent / f"{name}.md")
    if new.parent == old.parent or not target.exists():
        return name
    if kind == "path":
        return os.path.relpath(target, new.parent)
    return f"/{target.resolve().relative_to(project.docs).with_suffix('').as_posix()}"


def _follow(project: Project, old: Path, new: Path, path: Path, text: str) -> str:
    """Return a text with its links to a page led to where the page is now."""
    was, now = (page.relative_to(project.docs).with_suffix("").as_posix() for page in (old, new))
    beside = os.path.relpath(old.with_suffix(""), path.parent)

    def lead(name: str, kind: str) -> str:
        if kind == "path":
            leads = os.path.normpath(path.parent / name) == str(old)
            return os.path.relpath(new, path.parent) if leads else name
        if name in {f"/{was}", was}:
            return name.replace(was, now)
        near = new.name.removesuffix(".md") if new.parent == path.parent else f"/{now}"
        return near if name == beside else name

    if path.suffix == ".md" and path.is_relative_to(project.docs):
        return _links(text, lead)
    whole = re.escape(was) if "/" in was else rf"(?<=docs/){re.escape(was)}(?=\.md)"
    return re.sub(rf"(?<![\w-]){whole}(?![\w/-])", now, text)
