"""Find general statements, and those exempt from a sweep."""

import re
from collections.abc import Collection
from itertools import chain

import yaml

from claimbook.files import read_text
from claimbook.pages.book import BookError, Project, unknown
from claimbook.sweeps.written import FOLDER

GENERAL = re.compile(
    r"\b(every|each|all|any|anything|always|never|no|nothing|none|only|exactly|same|equals?"
    r"|whatever|whichever|both|neither)\b",
    re.IGNORECASE,
)
"""Words of a sentence that a single counterexample refutes."""


def left_out(project: Project, claims: Collection[str]) -> set[str]:
    """Return the claims that are exempt from a sweep.

    They are listed in `docs/sweeps/*.yaml`, which map reasons to lists of claims.

    Raises:
        BookError: a file has another form, or names an unknown claim; the message says where.
    """
    found: set[str] = set()
    for path in sorted((project.docs / FOLDER).glob("*.yaml")):
        name = project.name(path)
        try:
            data = yaml.safe_load(read_text(path))
        except yaml.YAMLError as error:
            raise BookError(f"{name}: {error}") from error
        if not isinstance(data, dict) or not all(isinstance(ids, list) for ids in data.values()):
            raise BookError(f"{name}: it must map reasons to lists of claims")
        for claim in chain.from_iterable(data.values()):
            if claim not in claims:
                what = unknown(str(claim), "claim", claims, "see claimbook list")
                raise BookError(f"{name}: {what}")
            found.add(claim)
    return found
