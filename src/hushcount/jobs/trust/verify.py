"""`verify`: whether what a release states follows from its budget and its public numbers, without data."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import cast

from hushcount.errors import HushcountError, ReleaseFileError
from hushcount.files.atomic import PathLike
from hushcount.jobs.trust.central import central_finding
from hushcount.jobs.trust.comparing import (
    close,
    compared,
    differences,
    local_differences,
    oracle_differences,
    oracle_recipe,
    tree_reaches,
)
from hushcount.jobs.trust.explain import Explanation
from hushcount.jobs.trust.recorded import exported, original, recorded
from hushcount.jobs.trust.rehearsal import rehearsed
from hushcount.ldp.registry import CAMPAIGNS
from hushcount.privacy import LOCAL_USER, NOBODY
from hushcount.releases.accuracy import smallest_published
from hushcount.releases.added import AddedError, add_releases
from hushcount.releases.key_list import KeyList
from hushcount.releases.oracle import Oracle
from hushcount.releases.release import Release
from hushcount.releases.stored.documents import Stored, accuracy_plain, other_plain, rows_plain
from hushcount.releases.stored.exact import Plain
from hushcount.releases.stored.reading import read_document, release_of
from hushcount.releases.stored.signatures import public_key, signature_fits
from hushcount.releases.tree import TreeRelease

PAGE = re.compile(r"docs/proofs/(?:[a-z_]{1,40}/)?[a-z_]{1,40}\.md")
_BROKEN = (ArithmeticError, AttributeError, HushcountError, LookupError, RuntimeError, TypeError, ValueError)


@dataclass(frozen=True, slots=True)
class CheckedFact:
    """One thing that was checked: True if it follows, False if not, None if it cannot be checked."""

    what: str
    follows: bool | None
    sentence: str


@dataclass(frozen=True, slots=True)
class Verification:
    """What was found about a release.

    Attributes
    ----------
    findings : tuple of CheckedFact
        What was checked, in order.
    release : Release, TreeRelease, KeyList, Oracle or None
        The release, if the file could be read.
    """

    findings: tuple[CheckedFact, ...]
    release: Stored | None = None

    @property
    def holds(self) -> bool:
        """Whether nothing was found that does not follow."""
        return all(finding.follows is not False for finding in self.findings)


def verify(
    source: PathLike | bytes, *, public_key: PathLike | None = None, ledger: PathLike | None = None
) -> Verification:
    """Check a release without its data: everything it states must follow from its budget and public numbers.

    Whether the noisy counts came from the data, and were drawn once, cannot be seen in a file; a signature
    says who vouches for that.

    Parameters
    ----------
    source : path or bytes
        A .json file of a release, an oracle file, or what it holds.
    public_key : path, optional
        A file with the Ed25519 public key, in PEM, by which the release must be signed.
    ledger : path or postgresql:// address, optional
        The ledger that must have recorded the release, or what `hushcount ledger export` wrote of it.

    Returns
    -------
    Verification
        `holds`, and `findings` with a sentence for everything that was checked.

    Raises
    ------
    DataError
        If a file cannot be read.

    Examples
    --------
    >>> import hushcount as hc
    >>> release = hc.top(["tea"] * 500, epsilon=1.0, delta=1e-6)
    >>> hc.verify(release.to_json().encode()).holds
    True
    """
    name = "The release" if isinstance(source, bytes) else os.fspath(source)
    try:
        values = read_document(name, source)
        release = release_of(name, values)
    except ReleaseFileError as error:
        return Verification((CheckedFact("file", False, str(error)),))
    if values["hushcount"] == 1:
        text = "The file is of version 1, which states too little to be verified."
        return Verification((CheckedFact("version", False, text),), release)
    found = [CheckedFact("digest", True, "The digest fits the contents."), _signature(values, public_key)]
    found += _findings(release, values)
    if ledger is not None:
        found.append(CheckedFact("ledger", *recorded(original(release, ledger), exported(ledger))))
    return Verification(tuple(found), release)


def _findings(release: Stored, values: Mapping[str, Plain]) -> Iterator[CheckedFact]:
    """Yield what is found about a release that could be read."""
    yield from _calibration(release)
    if isinstance(release, Release | TreeRelease):
        yield _statements(release, values)
        yield _threshold(release)
    promises = release.guarantees if isinstance(release, Oracle) else (release.guarantee,)
    pages = dict.fromkeys(page for promise in promises for page in promise.proof.split(", "))
    missing = [page for page in pages if not _is_there(page)]
    text = f"{', '.join(missing or pages)} {'is not' if missing else 'is'} in this installation."
    yield CheckedFact("proof", not missing, text)


def _signature(values: dict[str, Plain], key: PathLike | None) -> CheckedFact:
    """Return whether the release is signed, and by whom."""
    if "signature" not in values:
        return CheckedFact("signature", None if key is None else False, "The file is not signed.")
    if not signature_fits(values, None if key is None else public_key(key)):
        whose = "its own key" if key is None else "the key that was given"
        return CheckedFact("signature", False, f"The signature is not by {whose}.")
    if key is not None:
        return CheckedFact("signature", True, "The file is signed with the key that was given.")
    named = cast("Mapping[str, str]", values["signature"])["public_key"]
    return CheckedFact(
        "signature", True, f"The file is signed with the key {named}; compare it with its owner's."
    )


def _calibration(release: Stored) -> Iterator[CheckedFact]:
    """Yield whether noise, threshold and guarantee follow from the recipe."""
    promise = release.guarantee
    if promise.unit.protects == NOBODY:
        yield CheckedFact("privacy", False, "NOT PRIVATE: the noise came from a seed for tests.")
        return
    if isinstance(release, Oracle):
        yield _followed(lambda: _cells(release))
        return
    if isinstance(release, Release) and isinstance(release.error, AddedError):
        yield from _sum(release, release.error)
        return
    recipe = None if release.made is None else release.made.recipe
    if isinstance(release, Release) and promise.unit == LOCAL_USER and promise.mechanism in CAMPAIGNS:
        yield from _local(release, recipe)
        return
    if recipe is None:
        yield CheckedFact(
            "calibration", False, "The file has no recipe from which the calibration could follow."
        )
        return
    yield _followed(lambda: compared(release, rehearsed(dict(recipe))))


def _fact(what: str, wrong: list[str], some: str, none: str) -> CheckedFact:
    """Return what was checked: `some` names everything that does not follow, `none` says that all does."""
    return CheckedFact(what, not wrong, f"{some}: {', '.join(wrong)}." if wrong else none)


def _followed(differences: Callable[[], list[str]]) -> CheckedFact:
    """Return whether a recipe, followed again, gives what the release states."""
    try:
        wrong = differences()
    except _BROKEN:
        return CheckedFact("calibration", False, "No mechanism can be calibrated by the recipe in the file.")
    some = "These do not follow from the budget and the public numbers"
    none = "Noise, threshold, guarantee and error model follow from the budget and the public numbers."
    return _fact("calibration", wrong, some, none)


def _local(release: Release, recipe: Mapping[str, Plain] | None) -> Iterator[CheckedFact]:
    """Yield whether what a campaign promised, also of shuffled reports, follows from its manifest."""
    if recipe is None:
        text = "The file has no manifest of its campaign, so that the noise of the clients cannot be checked."
        yield CheckedFact("calibration", None, text)
        return
    try:
        wrong, central = local_differences(release, recipe), central_finding(release, recipe)
    except _BROKEN:
        yield CheckedFact("calibration", False, "The manifest of the campaign in the file is damaged.")
        return
    none = "Guarantee and noise of a report follow from the manifest; clients draw the noise themselves."
    yield _fact("calibration", wrong, "These do not follow from the manifest of the campaign", none)
    if central is not None:
        yield CheckedFact("central guarantee", *central)


def _cells(oracle: Oracle) -> list[str]:
    """Return what does not follow in the guarantees of the oracles that were merged into one."""
    wrong = oracle_differences(oracle)
    if wrong:
        return wrong
    pairs = [(each, rehearsed(oracle_recipe(oracle, each)).guarantee) for each in oracle.guarantees]
    return [name for stated, again in pairs for name in differences(stated, again)]


def _sum(release: Release, error: AddedError) -> Iterator[CheckedFact]:
    """Yield what is found about each party of a sum, and whether the sum is theirs."""
    for party in error.parties:
        yield from _calibration(party)
        yield _threshold(party)
    try:
        again = add_releases(error.parties)
        rows = again.table if release.whole else again.table.slice(0, len(release))  # the first of them
        same = rows == release.at_confidence(again.confidence).table
        wrong = differences(release.guarantee, again.guarantee) + ([] if same else ["counts"])
    except _BROKEN:
        wrong = ["parties"]
    yield _fact("sum", wrong, "Not those of its parties", "The sum is that of its parties.")


def _statements(release: Release | TreeRelease, values: Mapping[str, Plain]) -> CheckedFact:
    """Return whether accuracy and intervals follow from the error model."""
    wrong = []
    if values.get("accuracy") != accuracy_plain(release):
        wrong.append("accuracy")
    if not close(values.get("rows"), rows_plain(release.table)):
        wrong.append("rows")
    if values.get("other") != other_plain(release).get("other"):
        wrong.append("other")
    none = "Accuracy and intervals follow from the error model."
    return _fact("statements", wrong, "These do not follow from the error model", none)


def _threshold(release: Release | TreeRelease) -> CheckedFact:
    """Return whether every published value reaches the threshold."""
    try:
        return _reached(release)
    except _BROKEN:
        return CheckedFact("threshold", False, "The threshold cannot be computed from the file.")


def _reached(release: Release | TreeRelease) -> CheckedFact:
    """Return whether every published value reaches the threshold, or raise if there is no such number."""
    if isinstance(release, TreeRelease):
        reached, smallest = tree_reaches(release), release.threshold
    else:
        if isinstance(release, KeyList):
            return CheckedFact("threshold", None, "There are no counts to compare with a threshold.")
        local = release.guarantee.unit == LOCAL_USER  # whose floor is the threshold
        least = release.floor if local else smallest_published(release)
        if least is None:
            return CheckedFact("threshold", None, "There is no threshold to compare the counts with.")
        reached, smallest = bool((release.counts.to_numpy() >= least).all()), least
    compared = "Every published count is at least" if reached else "Some published count is below"
    return CheckedFact("threshold", reached, f"{compared} {smallest:,}, the threshold.")


def _is_there(page: str) -> bool:
    """Return whether the page of a proof is in this installation; a file may name anything as its proof."""
    try:
        return PAGE.fullmatch(page) is not None and bool(Explanation("", "", (), page).proof())
    except HushcountError:
        return False
