"""Split texts into the words that the search compares.

The patterns and rules are passed to `static/search.js`, which applies them to queries in the same
order.
"""

import re
from collections.abc import Iterator
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

NAME = r"[A-Za-z_][A-Za-z0-9_]*"
EXACT = r"[A-Za-z0-9]+(?:_[A-Za-z0-9]+)+"
"""A name with underscores, indexed as one word too."""
HUMPS = r"_+|(?<=[a-z0-9])(?=[A-Z])"
"""Where a name splits into words: `no_grad`, `DataLoader`."""

RULES = (
    (r"[123]d$", ""),
    (r"^none$", "nonee"),
    (r"our(?=s?$)", "or"),
    (r"yz(?=e[ds]?$|ing$)", "ys"),
    (r"i[sz](?:ations?|e[drs]?|ers?|ing)$", "is"),
    (r"at(?:e[ds]?|ing|ions?|ors?)$", "at"),
    (r"ie[ds]$", "y"),
    (r"ias(?:es)?$", "iaz"),
    (r"^(.*(?:s|x|ch|sh))es$", "$1"),
    (r"^(.{2,}[^s])s$", "$1"),
    (r"^add(?:ing|ed)$", "add"),
    (r"^(.+)([bdgmnprt])\2(?:ing|ed)$", "$1$2"),
    (r"^(.{3,})(?:ing|ed|e|ly)$", "$1"),
)
"""Stemming rules that merge inflections and spellings; replacements in JavaScript's syntax."""

STOP = frozenset(
    """
    a able about actually affect affected affects also an and another any anyone anything anyway
    are as at bad be been being best better between but by can certain correct correctly could
    did difference different do does doesn doing don during each every exactly fix fixed for
    from get gets getting give gives good got had handle handles handling happen happened
    happens has have help hi how i idea if implement implementation implementing in inside
    instead into is isn issue it its just make me my need of on one or other our perform
    performed performing perhaps please possible practice practices problem proper properly
    question really reasonable recommend recommended regarding related respect same seem seems
    should simple so solution solve solved some something still such than that the their them
    then there these this those to trying understand understanding up us usage use used using
    various versus very via vs want was way ways we what whats when where whether which while
    who whose why will with without work works would wrt you your
    """.split()  # noqa: SIM905
)
"""Words that are ignored."""
EVERYWHERE = frozenset(
    """
    torch pytorch nn py tensor code example function method pre
    layer layers network networks value values
    """.split()  # noqa: SIM905
)
"""Words that form no pair with each other."""


@lru_cache(maxsize=8)
def words(text: str) -> list[list[str]]:
    """Return the words of a text in lower case, grouped by name.

    >>> words("Does torch.no_grad() help?")
    [['does'], ['torch'], ['no', 'grad'], ['help']]
    """
    found = (
        [name] if name.islower() and "_" not in name else re.split(HUMPS, name)
        for name in re.findall(NAME, text)
    )
    return [[part.lower() for part in parts if part] for parts in found if any(parts)]


@cache
def stem(word: str) -> str:
    """Return the stem of a word, the same for its inflections and American spelling.

    >>> stem("normalization"), stem("normalised"), stem("gradients"), stem("Conv2d".lower())
    ('normali', 'normali', 'gradient', 'conv')
    """
    for pattern, put in _rules():
        word = pattern.sub(put, word)
    return word


@cache
def _rules() -> list[tuple[re.Pattern[str], str]]:
    return [(re.compile(pattern), put.replace("$", "\\")) for pattern, put in RULES]


def single(text: str) -> Iterator[str]:
    """Yield the stems of a text's words, without stop words and single letters.

    >>> list(single("loss of BatchNorm1d"))
    ['loss', 'batch', 'norm']
    """
    for name in words(text):
        yield from (stem(word) for word in name if word not in STOP and len(word) > 1)


def joined(text: str) -> Iterator[str]:
    """Yield pairs of adjacent words and whole names, each as one word.

    >>> list(joined("tensor cores of clip_grad_norm_"))
    ['clip_grad_norm', 'tensorcor', 'corof', 'ofclip', 'clipgrad', 'gradnorm', 'clipgradnorm']
    """
    last = ""
    yield from (name.lower() for name in re.findall(EXACT, text))
    for name in words(text):
        for word in name:
            if last and not (last in EVERYWHERE and word in EVERYWHERE):
                yield stem(last) + stem(word)
            last = word
        if len(name) > 2:
            yield "".join(map(stem, name))


@cache
def synonyms() -> dict[str, list[str]]:
    """Return stem → the stems of its synonyms."""
    found: dict[str, set[str]] = {}
    text = Path(__file__).with_name("synonyms.txt").read_text("utf-8")
    for line in text.split("\n"):
        if line and not line.startswith("#"):
            group = ["".join(map(stem, entry.split("+"))) for entry in line.split()]
            for each in group:
                found.setdefault(each, set()).update({*group} - {each})
    return {each: sorted(others) for each, others in sorted(found.items())}


def rules_data() -> dict[str, Any]:
    """Return the patterns and rules of this module, for the browser."""
    return {
        "name": NAME,
        "exact": EXACT,
        "humps": HUMPS,
        "rules": RULES,
        "stop": sorted(STOP),
        "everywhere": sorted(EVERYWHERE),
    }
