"""Text helpers: suggestions for unknown names, markup removal, curly quotes."""

import re
from collections.abc import Iterable
from difflib import get_close_matches
from functools import cache

from docutils.utils.smartquotes import educate_tokens

SHORT = "**In short.**"
"""How a short answer begins."""


ZEROS = re.compile(r"\b0+(?=\d)")


def near(name: str, known: Iterable[str]) -> str:
    """Return `; did you mean …?` with known names similar to a name; empty if there are none.

    The name with other leading zeros comes alone. Else names that contain it come first, shorter
    ones before longer ones, then the longest in it.

    >>> near("lane", ["lanes", "machine"])
    '; did you mean lanes?'
    >>> near("basics-5.1", ["basics", "basics-05.1", "basics-50.1"])
    '; did you mean basics-05.1?'
    """
    known = sorted({*known}, key=lambda each: (len(each), each))
    padded = [each for each in known if ZEROS.sub("", each) == ZEROS.sub("", name)]
    longer = [each for each in known if name in each]
    shorter = [each for each in known if each in name]
    found = padded or [*longer, *shorter[-1:]][:3] or get_close_matches(name, known)
    return f"; did you mean {' or '.join(found)}?" if found else ""


def strip_markup(statement: str) -> str:
    r"""Return a statement on one line, without link and role markup; keep the visible text.

    A `{doc}` link without a title becomes the name of its file.

    >>> strip_markup("See {term}`tensors <tensor>`, [the `grad` of one](grad.md)\nand `x[0](y)`.")
    'See tensors, the `grad` of one and `x[0](y)`.'
    >>> strip_markup("See {doc}`/data/worker-errors`.")
    'See worker errors.'
    >>> strip_markup("{cite:t}`lee2017a` says it first {cite:p}`lee2017a`.")
    'Lee (2017) says it first (Lee 2017).'
    >>> strip_markup("`{doc}` is a role.")
    '`{doc}` is a role.'
    """
    text = re.sub(r"\{([\w:]+)\}`([^`]+)`|`+[^`]+`+", _visible, " ".join(statement.split()))
    code = r"`[^`]*`"  # may look like a link, and may be in a link's text
    link = rf"({code})|\[((?:{code}|[^]`])+)\]\([^)\s]+\)"
    return re.sub(link, lambda found: found[1] or found[2], text)


def _visible(found: re.Match[str]) -> str:
    """Return the visible text of a role; code, which may look like one, as it is."""
    role, content = found[1], found[2]
    if not role:
        return found[0]
    if cited := re.fullmatch(r"([a-z]+)(\d+)\w*", content) if role.startswith("cite:") else None:
        author, year = cited[1].capitalize(), cited[2]
        return f"{author} ({year})" if role == "cite:t" else f"({author} {year})"
    if titled := re.fullmatch(r"([^<]+?)\s*<.*>", content):
        return titled[1]
    return content.split("/")[-1].replace("-", " ") if role == "doc" else f"`{content}`"


CODE_OR_MARK = re.compile(r"(`+[^`]+`+|[\w.]+\([^()\s]*['\"][^()]*\)|\*+)")
"""What has no quotes to be curled: code, also as a source writes it, and the marks of emphasis."""


@cache
def curly(text: str) -> str:
    """Return Markdown on one line with the quotes that a page shows: curly, but not in code.

    >>> print(curly('The *"rank"* of `x["a"]`'))
    The *“rank”* of `x["a"]`
    >>> print(curly("Write model.to('cuda')."))
    Write model.to('cuda').
    >>> print(curly('Say "use `x`", or --help...'))
    Say “use `x`”, or --help...
    """
    pieces = CODE_OR_MARK.split(text)
    tokens = (
        ("plain" if i % 2 == 0 else "tag" if piece.startswith("*") else "literal", piece)
        for i, piece in enumerate(pieces)
    )
    return "".join(educate_tokens(tokens, attr="q", language="en"))
