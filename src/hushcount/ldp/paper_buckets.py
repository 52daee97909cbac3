"""The decoders of SuccinctHist and BitstogramPaper: an item from the bits of each bucket, then its count."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from hushcount.errors import ManifestError
from hushcount.ldp import bitstogram_paper, succinct_hist
from hushcount.ldp.codes import LENGTH
from hushcount.ldp.decoding import Collected, Found, limit_of
from hushcount.ldp.paper_code import nearest
from hushcount.ldp.paper_oracle import published, refuse_other_questions
from hushcount.ldp.questions import Chunk, CodeBit
from hushcount.ldp.tallies import QuestionTallies


def decode_bits(collected: Collected, threshold: float | None) -> Found:
    """SuccinctHist: in every bucket, each bit as the larger of two estimates says (002, Algorithm 6)."""
    manifest = collected.manifest
    width = manifest.encoding.width
    first = manifest.groups[0].questions[0]
    if not isinstance(first, Chunk):
        raise ManifestError(f"the questions must be such as {manifest.protocol} asks.")
    refuse_other_questions(manifest, succinct_hist.questions_of(width, first.bucket_bits))
    bits = np.stack([_larger(tally) for tally in collected.groups[0]], axis=1)
    values = [int.from_bytes(row.tobytes(), "big") >> (-width % 8) for row in np.packbits(bits, axis=1)]
    return published(collected, values, limit_of(collected, threshold))


def _larger(tally: QuestionTallies) -> npt.NDArray[np.bool_]:
    """For every bucket, whether a 1 has the larger estimate; cell = bucket << 1 | bit."""
    pairs = tally.matches[0].reshape(-1, 2)
    return np.asarray(pairs[:, 1] > pairs[:, 0])


def decode_codewords(collected: Collected, threshold: float | None) -> Found:
    """BitstogramPaper: in every bucket of every repetition, the item nearest to the bits (002, Alg. 8)."""
    manifest = collected.manifest
    width = manifest.encoding.width
    first, last = manifest.groups[0].questions[0], manifest.groups[-1].questions[-1]
    shape = bitstogram_paper.Shape(first.cell_bits, first.rows, last.rows, last.cell_bits)
    refuse_other_questions(manifest, bitstogram_paper.questions_of(width, shape))
    values = [0] * (first.rows << first.cell_bits)
    for tally, (lowest, size) in zip(collected.groups[0], bitstogram_paper.parts_of(width), strict=True):
        messages = nearest(_decided(tally), size).tolist()
        values = [value | message << lowest for value, message in zip(values, messages, strict=True)]
    return published(collected, values, limit_of(collected, threshold))


def _decided(tally: QuestionTallies) -> npt.NDArray[np.int16]:
    """For every repetition and bucket the 128 bits as signs: +1 for a 0, which also a tie is taken for."""
    assert isinstance(tally.question, CodeBit)
    tables = tally.matches.reshape(tally.question.rows, LENGTH, -1)
    return np.where(tables >= 0, 1, -1).astype(np.int16).transpose(0, 2, 1).reshape(-1, LENGTH)
