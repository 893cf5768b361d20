"""Change the HTML of pages: their files and controls, what others wrote, and our own nodes."""

import re
from collections.abc import Callable
from functools import partial
from html import escape, unescape
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.writers.html5 import HTML5Translator

from claimbook.pages.text import curly
from claimbook.sphinx import elements
from claimbook.sphinx.controls import page_tools
from claimbook.sphinx.domain import claim_domain
from claimbook.sphinx.views import guides

MENDED = {
    "furo_navigation_tree": {
        'role="heading"': 'role="heading" aria-level="2"',  # screen readers need a level
    },
    "body": {
        r"(sphx-glr-thumbnail-title\">[^<]*\w)'(?=\w)": "\\1\u2019",  # its quotes are straight
        " id='sg-tag-list'": "",  # sphinx-gallery repeats this id
        ' tooltip="': ' title="',  # not an HTML attribute
        ' role="list" class="citation-list"': ' class="citation-list"',  # has no list items
        r'(<div class="table-wrapper[^>]*) id="[^"]*"': r"\1",  # furo repeats the table's id
    },
    "toc": {  # these subsections repeat in every section
        r'<li><a class="reference internal" href="[^"]*">'
        r"(In practice|Often said, and wrong|See also)</a></li>\n": "",
        r"<ul>\n</ul>\n": "",
    },
}
"""Part of a page → pattern of wrong HTML → its replacement."""


TITLE = re.compile(r'</h1>\n?(<p class="page-forms">.*?</p>|)')
"""The end of a page's title, with the links to its other forms."""


def connect(app: Sphinx) -> None:
    """Change pages after the theme and the forms of pages have added their parts."""
    app.connect("html-page-context", add_files)
    app.connect("html-page-context", mend, priority=900)


def add_files(app: Sphinx, name: str, *_: object) -> None:
    """Add the scripts and styles that a page needs, beside those of all pages."""
    if app.builder.name != "html":
        return
    files = list[str]()
    page = claim_domain(app.env).pages.get(name)
    if page and any(view.kind == "practice" for view in page.views):
        files += ["practice.css", "practice.js"]
    if page and page.explorers:
        parts = [f"{each}{part}" for each in page.explorers for part in ("-rule", "")]
        files += ["explorers/explorers.css"]
        files += [f"explorers/{part}.js" for part in ("rule", "explorer", *parts)]
    if any(guides.routes(app.env)):
        files += [guides.ROUTES]
    for file in files:
        if file.endswith(".css"):
            app.add_css_file(file)
        else:
            app.add_js_file(file, loading_method="defer")


def mend(
    app: Sphinx, name: str, template: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    """Fix the HTML of a page, and add its controls."""
    for part in MENDED.keys() & context.keys():
        for written, right in MENDED[part].items():
            context[part] = re.sub(written, right, context[part] or "")
    if app.builder.name == "html" and "body" in context:
        body = breakable(whole(context["body"]))
        if tools := page_tools(body) if doctree else "":
            body = TITLE.sub(rf'</h1>\n<div class="page-tools">{tools}\1</div>', body, count=1)
        context["body"] = body


TAG = re.compile("(<[^>]*>)")
SHORT = 20
"""Characters up to which code, or a name in a table, is not broken."""
CODE = re.compile(r'<code class="([^"]*\bliteral\b[^"]*)">(.*?)</code>', re.DOTALL)
BREAK = re.compile(r"(?:(?<=\w{3})[._(]+|(?<=\w)\(|(?<=[)\]])\.)(?=[^\W_])(?!\w+__)")
"""Where inline code may break: after a dot, an underscore or a bracket, but not after `x.`."""
OPTION = re.compile(r"(?<!\S)--?[a-z][\w-]{0,24}(?![\w-])")
"""An option of a command, such as `--gpus`, which would break after its dashes."""
CELL = re.compile(r"<td\b.*?</td>", re.DOTALL)
NAME = re.compile(rf"[\w.()]{{{SHORT + 1},}}")
PARTS = re.compile(r"(?<=\w)[._(](?=\w)|(?<=[a-z]{3})(?=[A-Z])")
"""Where a long name in a table may break."""
WHOLE = r'<span class="whole">\g<0></span>'
BREAKS = r"\g<0><wbr>"


def in_text(change: Callable[[str], str], html: str) -> str:
    """Return HTML with its text changed, and its tags as they were."""
    return "".join(p if p.startswith("<") else change(p) for p in TAG.split(html))


def breakable(html: str) -> str:
    """Add the places where long code, and long names in tables, may break; mark the code.

    >>> long = "torch.autograd.Function"
    >>> print(breakable(f'<code class="docutils literal notranslate">{long}</code>'))
    <code class="docutils literal notranslate long">torch.<wbr>autograd.<wbr>Function</code>
    >>> print(breakable("<td>new.load_state_dict(old)</td> <td>DistributedDataParallel</td>"))
    <td>new.<wbr>load_<wbr>state_<wbr>dict(<wbr>old)</td> <td>Distributed<wbr>Data<wbr>Parallel</td>
    """

    def of_code(text: str) -> str:
        return OPTION.sub(WHOLE, BREAK.sub(BREAKS, text))

    def of_cell(text: str) -> str:
        return NAME.sub(lambda name: PARTS.sub(BREAKS, name[0]), text)

    def code(found: re.Match[str]) -> str:
        if len(unescape(TAG.sub("", found[2]))) <= SHORT:
            return found[0]
        return f'<code class="{found[1]} long">{in_text(of_code, found[2])}</code>'

    return CELL.sub(lambda cell: in_text(of_cell, cell[0]), CODE.sub(code, html))


FACTOR = r"(?:\d+(?:[.,]\d+)*|[A-Za-z])\b"
NUMBER = re.compile(rf"(?<![\w.]){FACTOR}(?: × {FACTOR})+|(?<![\w.])\d[\d.]*e-\d+|(?<!\w)-inf\b")
VERBATIM = re.compile(r"(<(pre|code|svg|script|style|textarea)\b.*?</\2>)", re.DOTALL)


def whole(html: str) -> str:
    """Mark sizes and numbers of a text that must not be broken at a line's end.

    >>> print(whole("<p>A 3 × 3 filter and <code>3 × 3</code>, up to 2e-9.</p>"))
    <p>A <span class="whole">3 × 3</span> filter and <code>3 × 3</code>, up to \
<span class="whole">2e-9</span>.</p>
    """
    parts = VERBATIM.split(html)  # text, verbatim and its tag, in turns
    parts[::3] = (in_text(partial(NUMBER.sub, WHOLE), text) for text in parts[::3])
    del parts[2::3]
    return "".join(parts)


def add_site_html(writer: HTML5Translator, node: nodes.Element) -> None:
    """Write HTML that needs scripts, which an EPUB has not."""
    if not _is_epub(writer):
        writer.body.append(node.astext())
    raise nodes.SkipNode


def open_title(writer: HTML5Translator, node: nodes.Element) -> None:
    """Open the title of a claim: a `summary` if it is folded."""
    writer.body.append(f'<{_title_tag(writer, node)} class="claim-title">')


def close_title(writer: HTML5Translator, node: nodes.Element) -> None:
    """Close it, with a link to the claim; after a `summary`, in which no link may be."""
    link = f'<a class="claim-link" href="#{node["anchor"]}" title="Link to this statement">#</a>'
    tag = _title_tag(writer, node)
    writer.body.append(f"</{tag}>{link}\n" if tag == "summary" else f"{link}</{tag}>\n")


def _title_tag(writer: HTML5Translator, node: nodes.Element) -> str:
    folded = isinstance(node.parent, elements.detail) and not _is_epub(writer)
    return "summary" if folded else "p"


def open_detail(writer: HTML5Translator, node: nodes.Element) -> None:
    """Open a folded claim; unfolded in an EPUB, as few readers can unfold it."""
    tag = "div" if _is_epub(writer) else "details"
    writer.body.append(f'<{tag} class="{" ".join(node["classes"])}">\n')


def close_detail(writer: HTML5Translator, node: nodes.Element) -> None:
    """Close a folded claim."""
    writer.body.append("</div>\n" if _is_epub(writer) else "</details>\n")


def _is_epub(writer: HTML5Translator) -> bool:
    return bool(writer.builder.name == "epub")


def folded_title(text: str) -> str:
    """Return the title of a fold as HTML: code between backticks, quotes as in the text.

    >>> print(folded_title('What does "`x` is a leaf" mean?'))
    What does “<code class="docutils literal notranslate">x</code> is a leaf” mean?
    """
    pieces = curly(text).split("`")
    code = '<code class="docutils literal notranslate">{}</code>'
    return "".join((code if i % 2 else "{}").format(escape(part)) for i, part in enumerate(pieces))


def open_fold(writer: HTML5Translator, node: nodes.Element) -> None:
    """Open folded content; in an EPUB, answers are unfolded."""
    classes, title = " ".join(node["classes"]), folded_title(node["title"])
    shown = {"answer", elements.MORE_POINTS}.intersection(node["classes"])
    opened = ' open="open"' if _is_epub(writer) and shown else ""
    writer.body.append(f'<details class="{classes}"{opened}><summary>{title}</summary>\n')


def close_fold(writer: HTML5Translator, node: nodes.Element) -> None:
    """Close folded content."""
    writer.body.append("</details>\n")
