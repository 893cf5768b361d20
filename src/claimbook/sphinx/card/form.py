"""Lay out the card of a claim when its page is read: title, prose, and places of the rest."""

from collections.abc import Iterator

from docutils import nodes
from sphinx.addnodes import pending_xref

from claimbook.model import Claim, anchor, first_sentence
from claimbook.sphinx import elements


def card(claim: Claim, body: nodes.Element, page: str) -> nodes.Element:
    """Return a card: title, prose, and placeholders for code with outputs and for badges.

    Args:
        body: the parsed content of the directive; its nodes are moved.
        page: the docname of the page; a builder may join all pages into one.
    """
    title, rest = _title(body)
    name = anchor(claim.id)
    title["anchor"] = name
    whole = nodes.container("", ids=[name], names=[name], classes=["claim"])
    sessions, has_code = _sessions(claim, page), False
    for node in rest:
        if isinstance(node, nodes.literal_block) and node.get("language") == "pycon":
            whole += next(sessions, [])
            has_code = True
        else:
            if has_code and isinstance(node, nodes.Element):
                node["classes"].append("claim-shown")
            whole += node
    whole += elements.place(what="status", claim=claim.id, page=page)
    if not claim.detail:
        whole.insert(0, title)
        return whole
    for link in [*title.findall(pending_xref), *title.findall(nodes.reference)]:
        link.replace_self(link.children)
    whole["classes"] = ["claim-body"]
    return elements.fold("", title, whole, classes=["claim", "detail"])


def _sessions(claim: Claim, page: str) -> Iterator[list[nodes.Node]]:
    """Yield what takes the place of each `pycon` block: none of one for CUDA after another."""
    for number, fence in enumerate(claim.fences):
        yield [elements.place(what="session", claim=claim.id, page=page, fence=number)]
        if fence.cuda_examples is not None:
            yield []


def named(card: nodes.Element) -> nodes.Element:
    """Return the part of a card with the claim's id."""
    return next(part for part in card.findall(nodes.container) if part["names"])


def _title(body: nodes.Element) -> tuple[elements.headline, list[nodes.Node]]:
    """Split off the first sentence of a claim as its title; return it and the other nodes."""
    parts = list(body.children)
    if not (parts and isinstance(first := parts[0], nodes.paragraph)):
        return elements.headline(), parts
    sentence, others = _first_sentence(first.children)
    paragraph = [nodes.paragraph("", "", *others)] if others else []
    return elements.headline("", "", *sentence), [*paragraph, *parts[1:]]


def _first_sentence(parts: list[nodes.Node]) -> tuple[list[nodes.Node], list[nodes.Node]]:
    """Split the content of a paragraph after its first sentence."""
    texts = [part.astext() if isinstance(part, nodes.Text) else "``" for part in parts]
    length = len(first_sentence(" ".join("".join(texts).split("\n"))))
    for number, (part, text) in enumerate(zip(parts, texts, strict=True)):
        if length < len(text) or (length == len(text) and isinstance(part, nodes.Text)):
            head, tail = nodes.Text(text[:length]), nodes.Text(text[length:].lstrip())
            after = [tail] if tail.astext() else []
            return [*parts[:number], head], [*after, *parts[number + 1 :]]
        length -= len(text)
    return parts, []
