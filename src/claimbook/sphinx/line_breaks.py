"""Say where lines of a page may break: in long code and names, not in sizes and numbers."""

import re
from collections.abc import Callable
from functools import partial
from html import unescape

TAG = re.compile("(<[^>]*>)")
WHOLE = r'<span class="whole">\g<0></span>'
"""What is found, not to be broken."""
BREAK_AFTER = r"\g<0><wbr>"
"""What is found, and a place where a line may break."""

UNBROKEN = 20
"""Characters up to which code, or a name in a table, is not broken."""
CODE = re.compile(r'<code class="([^"]*\bliteral\b[^"]*)">(.*?)</code>', re.DOTALL)
CODE_BREAK = re.compile(
    r"""(?: (?<=\w{3})[._(]+  # `torch.` `load_` `ones(`, but not `x.`
          | (?<=\w)\(         # `f(`
          | (?<=[)\]])\.      # `x[0].`
        )
        (?=[^\W_])(?!\w+__)   # before a name or number; not in `torch.__version__`""",
    re.VERBOSE,
)
OPTION = re.compile(r"(?<!\S)--?[a-z][\w-]{0,24}(?![\w-])")
"""An option of a command, such as `--gpus`, which would break after its dashes."""
CELL = re.compile(r"<td\b.*?</td>", re.DOTALL)
LONG_NAME = re.compile(rf"[\w.()]{{{UNBROKEN + 1},}}")
NAME_BREAK = re.compile(
    r"""(?<=\w)[._(](?=\w)        # `new.` `load_` `dict(`
      | (?<=[a-z]{3})(?=[A-Z])    # `Distributed`, before `Data`""",
    re.VERBOSE,
)


def breakable(html: str) -> str:
    """Add the places where long code, and long names in tables, may break; mark the code.

    >>> long = "torch.autograd.Function"
    >>> print(breakable(f'<code class="docutils literal notranslate">{long}</code>'))
    <code class="docutils literal notranslate long">torch.<wbr>autograd.<wbr>Function</code>
    >>> print(breakable("<td>new.load_state_dict(old)</td> <td>DistributedDataParallel</td>"))
    <td>new.<wbr>load_<wbr>state_<wbr>dict(<wbr>old)</td> <td>Distributed<wbr>Data<wbr>Parallel</td>
    """

    def of_code(text: str) -> str:
        return OPTION.sub(WHOLE, CODE_BREAK.sub(BREAK_AFTER, text))

    def of_cell(text: str) -> str:
        return LONG_NAME.sub(lambda name: NAME_BREAK.sub(BREAK_AFTER, name[0]), text)

    def code(found: re.Match[str]) -> str:
        if len(unescape(TAG.sub("", found[2]))) <= UNBROKEN:
            return found[0]
        return f'<code class="{found[1]} long">{_in_text(of_code, found[2])}</code>'

    return CELL.sub(lambda cell: _in_text(of_cell, cell[0]), CODE.sub(code, html))


def unbreakable(text: str) -> list[str]:
    """Return the parts of code, or of other text, in a table that no line break parts.

    >>> unbreakable("new.load_state_dict(old)"), unbreakable("x.sum() + 1")
    (['new.', 'load_', 'state_', 'dict(', 'old)'], ['x.sum()', '+', '1'])
    """
    return (NAME_BREAK.sub(r"\g<0> ", text) if len(text) > UNBROKEN else text).split()


FACTOR = r"(?:\d+(?:[.,]\d+)*|[A-Za-z])\b"
NUMBER = re.compile(rf"(?<![\w.]){FACTOR}(?: × {FACTOR})+|(?<![\w.])\d[\d.]*e-\d+|(?<!\w)-inf\b")
"""A size such as `3 × 3` or `N × 1,024`; `2e-9`; `-inf`."""
DOT = re.compile(r"\s·(?=\s)")
VERBATIM = re.compile(r"(<(pre|code|svg|script|style|textarea)\b.*?</\2>)", re.DOTALL)


def whole(html: str) -> str:
    """Mark sizes and numbers of a text that must not be broken at a line's end.

    No line begins with a dot between two things.

    >>> print(whole("<p>A 3 × 3 filter and <code>3 × 3</code>, up to 2e-9.</p>"))
    <p>A <span class="whole">3 × 3</span> filter and <code>3 × 3</code>, up to \
<span class="whole">2e-9</span>.</p>
    >>> whole("<p>CPU · CUDA</p>") == f"<p>CPU{chr(160)}· CUDA</p>"
    True
    """
    parts = VERBATIM.split(html)  # text, verbatim and its tag, in turns
    parts[::3] = (_in_text(partial(NUMBER.sub, WHOLE), text) for text in parts[::3])
    parts[::3] = (DOT.sub("\u00a0·", text) for text in parts[::3])
    del parts[2::3]
    return "".join(parts)


def _in_text(change: Callable[[str], str], html: str) -> str:
    """Return HTML with its text changed, and its tags as they were."""
    return "".join(p if p.startswith("<") else change(p) for p in TAG.split(html))
