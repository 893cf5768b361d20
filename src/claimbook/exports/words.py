"""Split texts into the words that the search compares.

The rules of `words.toml` are passed to `static/search.js`, which applies them to queries.
"""

import re
import tomllib
from collections.abc import Iterator
from functools import cache
from itertools import chain, pairwise
from pathlib import Path
from typing import Any

RULES: dict[str, Any] = tomllib.loads(Path(__file__).with_name("words.toml").read_text("utf-8"))
"""The patterns, rules and word lists, as the browser gets them too."""
NAME, EXACT = re.compile(RULES["name"]), re.compile(RULES["exact"])
STOP, EVERYWHERE = frozenset(RULES["stop"]), frozenset(RULES["everywhere"])
STEMMING = [(re.compile(pattern), put.replace("$", "\\")) for pattern, put in RULES["rules"]]


def words(text: str) -> list[tuple[str, ...]]:
    """Return the words of a text in lower case, grouped by name.

    >>> words("Does torch.no_grad() help?")
    [('does',), ('torch',), ('no', 'grad'), ('help',)]
    """
    return [parts for name in NAME.findall(text) if (parts := _parts(name))]


@cache
def _parts(name: str) -> tuple[str, ...]:
    whole = name.islower() and "_" not in name
    parts = [name] if whole else re.split(RULES["humps"], name)
    return tuple(part.lower() for part in parts if part)


@cache
def stem(word: str) -> str:
    """Return the stem of a word, the same for its inflections and American spelling.

    >>> stem("normalization"), stem("normalised"), stem("gradients"), stem("Conv2d".lower())
    ('normali', 'normali', 'gradient', 'conv')
    """
    for pattern, put in STEMMING:
        word = pattern.sub(put, word)
    return word


def single(text: str) -> Iterator[str]:
    """Return the stems of a text's words, without stop words and single letters.

    >>> list(single("loss y of BatchNorm1d"))
    ['loss', 'batch', 'norm']
    """
    return chain.from_iterable(map(_stems, words(text)))


@cache
def _stems(name: tuple[str, ...]) -> list[str]:
    return [stem(word) for word in name if word not in STOP and len(word) > 1]


def joined(text: str) -> Iterator[str]:
    """Yield pairs of adjacent words and whole names, each as one word.

    >>> list(joined("tensor cores of clip_grad_norm_"))
    ['clip_grad_norm', 'tensorcor', 'corof', 'ofclip', 'clipgrad', 'gradnorm', 'clipgradnorm']
    """
    yield from (name.lower() for name in EXACT.findall(text))
    names = words(text)
    flat = [(word, stem(word), word in EVERYWHERE) for name in names for word in name]
    yield from (a + b for (_, a, common), (_, b, too) in pairwise(flat) if not (common and too))
    yield from ("".join(map(stem, name)) for name in names if len(name) > 2)


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
