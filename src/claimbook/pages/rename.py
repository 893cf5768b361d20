"""Gives a claim or a page another name, wherever a file of the project names it."""

import os
import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from claimbook.files import write_changed
from claimbook.pages.book import Project

KINDS = {".md", ".py", ".rst", ".yaml", ".yml", ".toml", ".txt"}
"""How the names of files end that may name a claim or a page."""

_LINK = re.compile(r"(?<=\]\()(?P<path>[^\s()#:]+)(?=[#)])")
_ROLE = re.compile(r"(?P<head>(?:\{doc\}|:doc:)`(?:[^`<]*<)?)(?P<name>[^`>]+)")
_LINE = re.compile(
    r"^(?P<head>\s*(?:[^<\n]*<)?)(?P<name>[\w./-]+)(?=(?:#[\w-]+)?>?\s*$)", re.MULTILINE
)


def rename_claim(project: Project, old: str, new: str) -> list[Path]:
    """Replace a claim's id wherever it stands alone; return the files that changed.

    An id of one word may be a word of a sentence: it is replaced where a claim or a link is named.
    """
    before = (
        r"(?<![\w-])(?:claim-)?" if "-" in old else r"(?:\{claim\} |\{claim\}`(?:[^`<]*<)?|claim-)"
    )
    name = re.compile(rf"({before}){re.escape(old)}(?![\w-])")
    return _rewrite(project, lambda _, text: name.sub(rf"\g<1>{new}", text))


def rename_page(project: Project, old: Path, new: Path) -> list[Path]:
    """Move a page, if it is not yet moved, and lead links to it; return the files that changed."""
    if old.exists():
        new.parent.mkdir(parents=True, exist_ok=True)
        text = _LINK.sub(partial(_moved_link, old, new), old.read_text("utf-8"))
        write_changed(new, text)
        old.unlink()
    return [new, *_rewrite(project, partial(_follow, project, old, new))]


def _rewrite(project: Project, change: Callable[[Path, str], str]) -> list[Path]:
    changed = []
    for path in _files(project):
        text = path.read_bytes().decode("utf-8", "surrogateescape")
        if (after := change(path, text)) != text:
            path.write_bytes(after.encode("utf-8", "surrogateescape"))
            changed.append(path)
    return changed


def _files(project: Project) -> Iterator[Path]:
    """Yield the files of a project that somebody wrote: none that is hidden, made or a record."""
    made = {project.docs / name for name in (*project.ignored, "_build", "records")}
    for folder, folders, names in os.walk(project.root):
        here = Path(folder)
        folders[:] = [n for n in sorted(folders) if n[0] not in "._" and here / n not in made]
        yield from (here / n for n in sorted(names) if Path(n).suffix in KINDS and n[0] != ".")


def _moved_link(old: Path, new: Path, link: re.Match[str]) -> str:
    """A link of a page that moves, as it leads to the same file from its new place."""
    target = old.parent / link["path"]
    return os.path.relpath(target, new.parent) if target.exists() else link["path"]


def _follow(project: Project, old: Path, new: Path, path: Path, text: str) -> str:
    """A text with its links to a page led to where the page is now."""
    was, now = (page.relative_to(project.docs).with_suffix("").as_posix() for page in (old, new))

    def linked(link: re.Match[str]) -> str:
        leads = os.path.normpath(path.parent / link["path"]) == str(old)
        return os.path.relpath(new, path.parent) if leads else link["path"]

    def named(place: re.Match[str]) -> str:
        name = place["name"]
        if path.is_relative_to(project.docs):
            beside = os.path.relpath(old.with_suffix(""), path.parent)
            if name in {beside, f"/{was}"}:
                same = new.parent == old.parent and name == beside
                return place["head"] + (
                    os.path.relpath(new.with_suffix(""), path.parent) if same else f"/{now}"
                )
        return place["head"] + (now if name == was and "/" in was else name)

    if path.suffix == ".md":
        text = _LINE.sub(named, _LINK.sub(linked, text))
    text = _ROLE.sub(named, text)
    whole = re.escape(was) if "/" in was else rf"(?<=docs/){re.escape(was)}(?=\.md)"
    return re.sub(rf"(?<![\w-]){whole}(?![\w/-])", now, text) if path.suffix != ".md" else text
