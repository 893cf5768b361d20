"""What the whole book did on one release of torch, kept as one file a release."""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from claimbook.accept import Gravity, changes
from claimbook.model import Claim, Environment, Lane, Outcome, Provenance, Run
from claimbook.records import (
    ENVIRONMENT_FIELDS,
    PROVENANCE_FIELDS,
    RecordError,
    check_fields,
    read_limited,
    write_atomically,
)

SCHEMA = 1


@dataclass(frozen=True, slots=True)
class Result:
    """What one claim did on a release."""

    digest: str
    outcome: Outcome
    gravity: Gravity | None = None
    """How grave the difference is; None if there is none, or the claim did not come to its end."""
    outputs: tuple[str, ...] = ()
    """What its examples printed; left out where all is as on the page."""
    message: str = ""
    """What ended it before its end."""

    @property
    def word(self) -> str:
        """`holds`, or how what it did differs from the page."""
        if self.outcome is Outcome.PASSED:
            return "holds"
        return str(self.gravity or self.outcome)


@dataclass(frozen=True)
class Release:
    """One release, and what every claim did on it."""

    version: str
    environment: Environment
    results: Mapping[str, Result]
    """Claim id → what it did."""
    provenance: Provenance = field(compare=False)

    def of(self, claim: Claim) -> Result | None:
        """What the claim as it stands did; None if it was not run, or was another claim then."""
        result = self.results.get(claim.id)
        return result if result and result.digest == short_digest(claim) else None


def short_digest(claim: Claim) -> str:
    """Enough of the claim's digest to tell it from what it was before."""
    return claim.digest(Lane.CPU)[:16]


def result_of(claim: Claim, run: Run) -> Result:
    """What is kept of a run."""
    digest = short_digest(claim)
    if run.outcome is Outcome.PASSED:
        return Result(digest, run.outcome)
    if run.outcome is not Outcome.FAILED:
        return Result(digest, run.outcome, message=run.message)
    gravest = max((c.gravity for c in changes(claim, run, ())), key=list(Gravity).index)
    return Result(digest, run.outcome, gravest, run.outputs)


def order(version: str) -> tuple[int, ...]:
    """Sorts releases from the oldest on: 2.8.0 before 2.10.0.

    >>> sorted(["2.10.0", "2.8.0"], key=order)
    ['2.8.0', '2.10.0']
    """
    return tuple(int(part) for part in version.split(".") if part.isdecimal())


@dataclass(frozen=True)
class Releases:
    """The files of a folder, one a release."""

    folder: Path

    def path(self, version: str) -> Path:
        """Where a release stands."""
        return self.folder / f"{version}.json"

    def load_all(self, tell: Callable[[str, str], None]) -> list[Release]:
        """Every release, from the oldest on.

        Args:
            tell: is given the path of each file that is broken, and why; the others stand.
        """
        found = []
        for path in self.folder.glob("*.json"):
            try:
                found.append(self.load(path.stem))
            except RecordError as error:
                tell(str(path), f"{error}; it counts as missing")
        return sorted(found, key=lambda release: order(release.version))

    def save(self, release: Release) -> None:
        """Writes a release: a line a claim, so that two runs can be compared by eye."""
        head = {
            "schema": SCHEMA,
            "release": release.version,
            "environment": asdict(release.environment),
            "recorded": asdict(release.provenance),
        }
        lines = [f'"{key}": {_text(value)},' for key, value in head.items()]
        claims = [f'"{id_}": {_text(_data(r))}' for id_, r in sorted(release.results.items())]
        body = ",\n".join(claims)
        text = "{\n" + "\n".join(lines) + f'\n"claims": {{\n{body}\n}}}}\n'
        write_atomically(self.path(release.version), text)

    def load(self, version: str) -> Release:
        """One release.

        Raises:
            RecordError: its file is broken, too large, or another release's.
        """
        path = self.path(version)
        try:
            return _release(version, json.loads(read_limited(path)))
        except (OSError, ValueError, RecursionError) as error:
            raise RecordError(f"{path}: no record of a release: {error}") from error


def flipped(claims: Iterable[Claim], old: Release, new: Release) -> list[Claim]:
    """The claims that held on just one of two releases."""
    pairs = [(claim, old.of(claim), new.of(claim)) for claim in claims]
    return [
        c for c, was, now in pairs if was and now and (was.word == "holds") != (now.word == "holds")
    ]


def _text(data: object) -> str:
    return json.dumps(data, ensure_ascii=False)


def _data(result: Result) -> dict[str, Any]:
    data = asdict(result)
    return {key: value for key, value in data.items() if value}


def _release(version: str, data: Any) -> Release:
    whole = check_fields(data, "release", FIELDS)
    if (whole["schema"], whole["release"]) != (SCHEMA, version):
        raise ValueError(f"schema {whole['schema']}, release {whole['release']}")
    environment = check_fields(whole["environment"], "environment", ENVIRONMENT_FIELDS)
    provenance = check_fields(whole["recorded"], "recorded", PROVENANCE_FIELDS)
    results = {id_: _result(result) for id_, result in whole["claims"].items()}
    return Release(version, Environment(**environment), results, Provenance(**provenance))


def _result(data: Any) -> Result:
    if not isinstance(data, dict) or not data.keys() <= RESULT_FIELDS.keys():
        raise ValueError(f"a result has the fields {', '.join(RESULT_FIELDS)}")
    whole = check_fields({**NOTHING, **data}, "result", RESULT_FIELDS)
    if not all(isinstance(text, str) for text in whole["outputs"]):
        raise ValueError("outputs are texts")
    return Result(
        whole["digest"],
        Outcome(whole["outcome"]),
        Gravity(whole["gravity"]) if whole["gravity"] else None,
        tuple(whole["outputs"]),
        whole["message"],
    )


FIELDS: Mapping[str, tuple[type, ...]] = {
    "schema": (int,),
    "release": (str,),
    "environment": (dict,),
    "recorded": (dict,),
    "claims": (dict,),
}
RESULT_FIELDS: Mapping[str, tuple[type, ...]] = {
    **dict.fromkeys(("digest", "outcome", "gravity", "message"), (str,)),
    "outputs": (list,),
}
NOTHING: Mapping[str, object] = {"gravity": "", "message": "", "outputs": []}
