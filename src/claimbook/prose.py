"""What is left of a sentence of a page where its links cannot be followed."""

import re


def alone(statement: str) -> str:
    """A statement as it stands in lists and data: of links and roles their text is left."""

    def cited(role: re.Match[str]) -> str:
        author, year = role[2].capitalize(), role[3]
        return f"{author} ({year})" if role[1] == "t" else f"({author} {year})"

    text = re.sub(r"\{cite:(\w)\}`([a-z]+)(\d+)\w*`", cited, statement)
    text = re.sub(r"\{[\w:]+\}`([^`<]+?)\s*<[^`]*>`", r"\1", text)
    text = re.sub(r"\{[\w:]+\}(?=`)", "", text)
    pieces = re.split(r"(`[^`]*`)", text)
    pieces[::2] = [re.sub(r"\[([^\]]+)\]\([^)\s]+\)", r"\1", piece) for piece in pieces[::2]]
    return "".join(pieces)
