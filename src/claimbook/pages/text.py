"""What is left of a sentence of a page where its links cannot be followed."""

import re


def strip_markup(statement: str) -> str:
    """A statement as it stands in lists and data: of links and roles their text is left.

    >>> strip_markup("See {term}`tensors <tensor>`, [the `grad` of one](grad.md) and `x[0](y)`.")
    'See tensors, the `grad` of one and `x[0](y)`.'
    """

    def cited(role: re.Match[str]) -> str:
        author, year = role[2].capitalize(), role[3]
        return f"{author} ({year})" if role[1] == "t" else f"({author} {year})"

    text = re.sub(r"\{cite:(\w)\}`([a-z]+)(\d+)\w*`", cited, statement)
    text = re.sub(r"\{[\w:]+\}`([^`<]+?)\s*<[^`]*>`", r"\1", text)
    text = re.sub(r"\{[\w:]+\}(?=`)", "", text)
    code = r"`[^`]*`"  # which may look like a link, and stand in the text of one
    link = rf"({code})|\[((?:{code}|[^]`])+)\]\([^)\s]+\)"
    return re.sub(link, lambda found: found[1] or found[2], text)
