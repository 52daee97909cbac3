"""SpaceSaving in several threads: keys are dealt to shards by a keyed hash, and each shard is a stream."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TypeVar, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from hushcount.compiled.arrays import Counts, Words
from hushcount.errors import ParameterError
from hushcount.files.container import Contents, type_from_text, type_to_text
from hushcount.keys.arrays import ByteKeys, CodedKeys, Keys, from_kernel, held_as, to_kernel
from hushcount.keys.memory import Data
from hushcount.privacy import check_count
from hushcount.secure import fresh_key
from hushcount.shapes import KeyShards, Public, Shards
from hushcount.sketches.base import BufferedSketch, alone
from hushcount.sketches.coded.batch import PreparedKeys, count_codes
from hushcount.sketches.counters import SpaceSaving, check_counters
from hushcount.sketches.dealt.dealer import PIECE, Dealer, Hand, dealt_codes, sliced
from hushcount.sketches.held import check_id, check_memory, need
from hushcount.sketches.merged import DealtByKey, shards_of
from hushcount.sketches.several import check_room
from hushcount.sketches.table import looked_up

_Given = TypeVar("_Given")
_Done = TypeVar("_Done")

LARGEST_THREADS = 256
ALONE = 1 << 12  # rows for which other threads are not worth waking
SEVERAL = "counters must be at least 2 for each of {} threads, got {}."


class KeyShardSketch(BufferedSketch[PreparedKeys]):
    """One SpaceSaving sketch for each thread, each of the keys that a hash deals to it.

    The hash has a key of its own, drawn for the sketch: no data can make one shard crowded but by a few very
    frequent keys. What a shard counts does not depend on when which thread runs.

    Parameters
    ----------
    counters : int
        The number of keys that can be tracked in all shards, which share them evenly.
    threads : int
        The number of shards, at most 256: a public number.

    Examples
    --------
    >>> sketch = KeyShardSketch(counters=8, threads=2)
    >>> sketch.update(["a", "b", "a", "c"])
    >>> sketch.estimate(["a", "b", "d"]).tolist(), sketch.error_bound
    ([2, 1, 0], 0)
    """

    def __init__(self, counters: int = 4096, threads: int = 2) -> None:
        super().__init__()
        self.threads = check_count("threads", threads, most=LARGEST_THREADS)
        if counters < 2 * self.threads:
            raise ParameterError(SEVERAL.format(self.threads, counters))
        each = check_counters(counters // self.threads)
        self.counters = each * self.threads
        self.id = fresh_key().hex()
        self.shards = [SpaceSaving(each) for _ in range(self.threads)]
        self._deal_by(fresh_key())
        self._pool: ThreadPoolExecutor | None = None

    def _deal_by(self, secret: bytes) -> None:
        """Deal keys by this hash key from now on."""
        self._secret = secret
        self.dealers = [Dealer(secret, self.threads) for _ in range(self.threads)]

    def public(self) -> Public:
        """Return the numbers that no data changes: equal before and after counting."""
        return replace(self.shards[0].public(), unit=self.unit, shape=KeyShards)

    @alone
    def shape(self) -> Shards:
        """Return the summary of each shard."""
        self.flush()
        for shard in self.shards:
            shard.unit = self.unit
        return shards_of(DealtByKey(self.shards))

    @property
    @alone
    def error_bound(self) -> int:
        """The largest floor of a shard: no count is further above the true one."""
        self.flush()
        return max(shard.error_bound for shard in self.shards)

    @alone
    def update(self, keys: Data) -> None:
        """Count a batch of keys in its order, or none of them if one cannot be counted.

        Parameters
        ----------
        keys : array, frame column or iterable
            Keys of one type. Nulls are ignored.
        """
        self.flush()
        self.count(self.prepared(keys))

    @alone
    def estimate(self, keys: Data) -> Counts:
        """Return the counts of keys, 0 for those not tracked.

        Parameters
        ----------
        keys : array, frame column or iterable
            Keys to look up; none may be null.
        """
        self.flush()
        return looked_up(keys, self._key_type, self._looked_up)

    def prepared(self, keys: Data) -> PreparedKeys:
        """Return a batch ready to be counted, or raise; the sketch does not change."""
        batch = PreparedKeys.shared(keys, self._key_type)
        if batch is None or batch.coded is None or len(batch.coded) < len(batch.coded.values):
            batch = PreparedKeys.of(keys, self._key_type)
        check_room(self._total, batch.rows)
        return batch

    def count(self, batch: PreparedKeys) -> None:
        """Count a batch that `prepared` has returned."""
        if batch.kind is None:
            return
        self._key_type, block = held_as(batch.kind), PIECE * self.threads
        for part in batch.batches:
            for start in range(0, len(part), block):
                self._count_block(sliced(part, start, min(start + block, len(part))))
            self._total += len(part)
        if batch.coded is not None:
            self._count_coded(batch.coded)
            self._total += len(batch.coded)

    def _count_coded(self, keys: CodedKeys) -> None:
        """Deal the keys of a page once and rows by their codes, then let each shard count its own."""
        dealt, kind = self.dealers[0].shards_of(keys.values), cast("pa.DataType", self._key_type)
        pages = [np.flatnonzero(dealt == shard) for shard in range(self.threads)]
        numbers = np.empty(len(dealt), np.int32)  # of each key in the page of its shard
        for page in pages:
            numbers[page] = np.arange(len(page))
        strings = from_kernel(keys.values, kind)
        size = -(-len(keys) // self.threads)
        pieces = [keys.codes[start : start + size] for start in range(0, len(keys), size)]
        found = self._map(lambda codes: dealt_codes(numbers[codes], dealt[codes], self.threads), pieces)

        def count_own(shard: int) -> None:
            rows = np.concatenate([piece[shard] for piece in found])
            rows.flags.writeable = False  # as the codes of Arrow are, so that no kernel is compiled twice
            if len(rows):
                page = cast("ByteKeys", to_kernel(strings.take(pa.array(pages[shard])), kind))
                count_codes(self.shards[shard].open(kind), CodedKeys(page, rows))
                self.shards[shard].counted(len(rows))

        self._map(count_own, range(self.threads))

    def _map(self, work: Callable[[_Given], _Done], given: Sequence[_Given]) -> list[_Done]:
        """Do some work in all threads."""
        if self._pool is None:
            self._pool = ThreadPoolExecutor(self.threads, "hushcount-count")
        return list(self._pool.map(work, given))

    def _count_block(self, block: Keys) -> None:
        """Deal pieces of a block at once, then let each shard count what it was dealt, piece after piece."""
        if len(block) < ALONE or self.threads == 1:
            hands = [self.dealers[0].hand(block)]
            for shard in range(self.threads):
                self.count_shard(shard, hands)
            return
        ends = [len(block) * index // self.threads for index in range(self.threads + 1)]
        pieces = [sliced(block, *ends[index : index + 2]) for index in range(self.threads)]
        hands = self._map(lambda index: self.dealers[index].hand(pieces[index]), range(self.threads))
        self._map(lambda shard: self.count_shard(shard, hands), range(self.threads))

    def count_shard(self, index: int, hands: Sequence[Hand]) -> None:
        """Count what one shard was dealt."""
        shard = self.shards[index]
        for hand in hands:
            rows = slice(*hand.bounds[index : index + 2].tolist())
            if rows.start == rows.stop:  # a shard without keys has no type either
                continue
            table = shard.open(cast("pa.DataType", self._key_type))
            if hand.data is None or hand.ends is None:
                table.count(cast("Words", hand.begins[rows]))
            else:
                table.count_spans((hand.data, hand.begins[rows], hand.ends[rows]))
            shard.counted(rows.stop - rows.start)

    def _looked_up(self, keys: Keys) -> Counts:
        """Return the counts of keys: only the shard of a key can hold it."""
        found = np.zeros(len(keys), np.int64)
        for shard in self.shards:
            if shard.key_type is not None:
                found += shard.open(shard.key_type).lookup(keys)
        return found

    @alone
    def contents(self) -> Contents:
        """Return the kind, header fields and arrays that `save` writes."""
        self.flush()
        shards = [shard.contents() for shard in self.shards]
        fields = {
            "id": self.id,
            "counters": self.counters,
            "threads": self.threads,
            "secret": self._secret.hex(),
            "shards": [shard.fields for shard in shards],
            "total": self._total,
            "key_type": type_to_text(self._key_type),
        }
        arrays = {
            f"{index}:{name}": array
            for index, shard in enumerate(shards)
            for name, array in shard.arrays.items()
        }
        return Contents("key-shards", fields, arrays)

    @classmethod
    def from_contents(cls, contents: Contents) -> KeyShardSketch:
        """Return the sketch that `contents` described, or raise if it describes none."""
        fields, arrays = contents.fields, dict(contents.arrays)
        need("secret", len(fields["secret"]) == 32)
        sketch = cls(fields["counters"], fields["threads"])
        need("counters", sketch.counters == fields["counters"])
        check_memory(sketch.threads * SpaceSaving.memory_bound(sketch.shards[0].counters), arrays)
        need("shards", len(fields["shards"]) == sketch.threads)
        sketch.id = check_id(fields["id"])
        sketch._deal_by(bytes.fromhex(fields["secret"]))
        sketch._key_type = type_from_text(fields["key_type"])
        sketch.shards = [sketch._read(index, own, arrays) for index, own in enumerate(fields["shards"])]
        sketch._total = fields["total"]
        need("total", type(sketch._total) is int)
        need("total", sum(shard.total for shard in sketch.shards) == sketch._total)
        need("type", (sketch._key_type is None) == (sketch._total == 0))
        need("arrays", not arrays)
        return sketch

    def _read(
        self, index: int, fields: dict[str, object], arrays: dict[str, npt.NDArray[np.generic]]
    ) -> SpaceSaving:
        """Return a shard that was written, with its own arrays taken away from all; every key must be its."""
        prefix = f"{index}:"
        names = [name for name in arrays if name.startswith(prefix)]
        own = {name.removeprefix(prefix): arrays.pop(name) for name in names}
        shard = SpaceSaving.from_contents(Contents("space-saving", fields, own))
        need("counters", shard.counters == self.shards[index].counters)
        need("type", shard.key_type in (None, self._key_type))
        entries = shard.entries()
        need("keys", not len(entries) or bool((self.dealers[0].shards_of(entries.keys) == index).all()))
        return shard
