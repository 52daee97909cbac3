"""Damaged input files are read or refused in a sentence: python -m tests.fuzz.inputs FORMAT SEED COUNT."""

from __future__ import annotations

import io
import json
import os
import random
import resource
import sys
import tempfile

import pyarrow as pa
from pyarrow import parquet

import hushcount as hc
from hushcount.errors import HushcountError
from hushcount.sources.open import open_source

MEMORY = 8 << 30  # address space; a file that asks for more must not get it
ROWS = 400


def words(rng: random.Random) -> list[str | None]:
    """Return keys, some of them null, empty or long."""
    return [rng.choice((None, "", f"key{rng.randrange(30)}", "é" * rng.randrange(40))) for _ in range(ROWS)]


def arrow(rng: random.Random) -> bytes:
    """Return an Arrow file or stream of a column of a random kind."""
    values = pa.array(words(rng))
    numbers = pa.array(range(ROWS))
    kinds = {
        "string": lambda: values,
        "large": lambda: values.cast(pa.large_string()),
        "dictionary": values.dictionary_encode,
        "view": lambda: values.cast(pa.string_view()),
        "runs": lambda: pa.RunEndEncodedArray.from_arrays(pa.array([100, ROWS], pa.int32()), values[:2]),
        "numbers": lambda: numbers,
        "dates": lambda: numbers.cast(pa.timestamp("us", "UTC")),
        "fixed": lambda: pa.array([b"abcd"] * ROWS, pa.binary(4)),
    }
    batch = pa.record_batch({"item": kinds[rng.choice(sorted(kinds))]()})
    options = pa.ipc.IpcWriteOptions(compression=rng.choice((None, "lz4", "zstd")))
    stream = io.BytesIO()
    opened = rng.choice((pa.ipc.new_file, pa.ipc.new_stream))
    with opened(stream, batch.schema, options=options) as writer:
        writer.write_batch(batch)
        writer.write_batch(batch)
    return stream.getvalue()


def columnar(rng: random.Random) -> bytes:
    """Return a Parquet file with some encoding."""
    stream = io.BytesIO()
    column = pa.array(words(rng)) if rng.random() < 0.7 else pa.array(range(ROWS))
    parquet.write_table(
        pa.table({"item": column}),
        stream,
        row_group_size=150,
        use_dictionary=rng.random() < 0.6,
        compression=rng.choice(("none", "snappy", "zstd")),
    )
    return stream.getvalue()


def csv(rng: random.Random) -> bytes:
    """Return a CSV file with quotes here and there."""
    lines = [rng.choice(('"{}",1', "{},2")).format(word or "") for word in words(rng)]
    return "\n".join(["item,n", *lines]).encode()


def jsonl(rng: random.Random) -> bytes:
    """Return JSON lines of objects with values of several kinds."""
    values = (None, 1, 1.5, True, "text", [1], {"a": 1})
    lines = [json.dumps({"item": rng.choice((word, *values))}) for word in words(rng)]
    return "\n".join(lines).encode()


MAKERS = {"arrow": arrow, "parquet": columnar, "csv": csv, "jsonl": jsonl}


def damaged(data: bytes, rng: random.Random) -> bytes:
    """Return the bytes with some of them changed, a part cut out or doubled, or the end missing."""
    changed = bytearray(data)
    for _ in range(rng.randrange(1, 6)):
        place = rng.randrange(len(changed))
        what = rng.random()
        if what < 0.7:
            changed[place] = rng.choice((0, 1, 127, 128, 255, rng.randrange(256)))
        elif what < 0.8:
            changed[place : place + 8] = rng.choice((b"\xff" * 8, b"\0" * 8, b"\0\0\0\0\0\0\1\0"))
        elif what < 0.9:
            changed[place:place] = changed[place : place + rng.randrange(64)]
        else:
            del changed[place : place + rng.randrange(64)]
    return bytes(changed) or b"\0"


def main() -> None:
    """Read damaged files; print how many were read and refused."""
    name, seed, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    outcomes = {"read": 0, "refused": 0}
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, f"a.{name}")
        for number in range(count):
            rng = random.Random(f"{seed} {number}")
            with open(path, "wb") as stream:
                stream.write(damaged(MAKERS[name](rng), rng))
            print(f"{name} {seed} {number}", file=sys.stderr, flush=True)
            outcomes[read(path)] += 1
    print(json.dumps(outcomes))


def read(path: str) -> str:
    """Count the keys of a file; return whether it was read or refused."""
    sketch = hc.SpaceSaving(counters=64)
    refused = None
    try:
        for batch in open_source(path, column="item").batches():
            sketch.update(batch.keys)
        sketch.to_bytes()
    except HushcountError as error:
        refused = error
    if refused is None:
        return "read"
    assert refused.__cause__ is refused.__context__ is None
    assert not any(f"key{number}" in str(refused) for number in range(30)), str(refused)
    return "refused"


if __name__ == "__main__":
    main()
