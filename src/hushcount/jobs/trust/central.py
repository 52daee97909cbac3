"""Whether the central guarantee of an anonymous campaign holds, proved anew from its manifest.

The manifest is in the recipe of a release: the local epsilon, the bits of a response, the smallest batch and
the claim. That the relay shuffles, and is in another hand than the collector, cannot be seen in a file.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from hushcount.errors import ManifestError
from hushcount.ldp.server.decoding import check_central, notes_of
from hushcount.ldp.wire.manifest import Manifest
from hushcount.releases.release import Release
from hushcount.releases.stored.exact import Plain, text_from, whole_from

_STATED = "Central guarantee"  # with which the note of a release about it begins


class CentralFinding(NamedTuple):
    """Whether what a release states of a central guarantee follows, and a sentence about it."""

    follows: bool
    sentence: str


def central_finding(release: Release, recipe: Mapping[str, Plain]) -> CentralFinding | None:
    """Return what is found about a central guarantee, None if none is stated.

    Parameters
    ----------
    release:
        A release of a campaign.
    recipe:
        Its recipe; it has the manifest and the number of reports.
    """
    manifest = Manifest.parse(text_from(recipe["manifest"]))
    stated = [note for note in release.notes if note.startswith(_STATED)]
    if not set(stated) <= set(notes_of(manifest)):
        return CentralFinding(False, "The notes state another central guarantee than the manifest claims.")
    claim, terms = manifest.terms.central, manifest.terms
    if claim is None:
        return None
    try:
        check_central(manifest)
    except ManifestError:
        return CentralFinding(False, "The central guarantee does not follow from the manifest.")
    if whole_from(recipe["reports"], 1) < terms.min_batch:
        return CentralFinding(False, "There are fewer reports than the smallest batch of the manifest.")
    return CentralFinding(
        True,
        f"The central guarantee ({claim[0]:g}, {claim[1]:g}) of shuffled batches of at least"
        f" {terms.min_batch:,} honest reports was proved anew; whether {terms.relay} shuffles them, and is in"
        " another hand than the collector, cannot be seen in a file.",
    )


def campaign_of(release: object) -> Manifest | None:
    """Return the manifest of the campaign that a release is of, None if it is of none."""
    made = release.made if isinstance(release, Release) else None
    text = None if made is None or made.recipe is None else made.recipe.get("manifest")
    return Manifest.parse(text) if isinstance(text, str) else None
