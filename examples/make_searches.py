"""Make searches.parquet: a week of searches on the site of a town that does not exist.

The same table every time. A few hundred common searches, thousands of rare ones, and many that occur
once and name something private, such as the number of a letter: these must never be published.
"""

from __future__ import annotations

import random
import sys
from datetime import datetime, timedelta
from itertools import accumulate, product
from pathlib import Path

import pyarrow as pa
from pyarrow import parquet

SEED = 20
ROWS = 300_000
PRIVATE_SHARE = 0.03
EXPONENT = 1.05
START = datetime(2024, 6, 3)
WEEK = 7 * 24 * 60 * 60

COMMON = """weather tomorrow|opening hours|bus timetable|swimming pool|library|rubbish collection|
farmers market|tide times|lost property|park and ride|recycling centre|museum tickets|dog walking|
school holidays|concert tonight|bicycle repair|sunrise time|playground|allotment waiting list|
night bus|street map|fireworks|pharmacy on duty|town hall|ferry|book a tennis court|ice rink|
compost|road works|choir|chess club|flea market|observatory|botanical garden|harbour tour""".replace("\n", "")
ACTIONS = [
    "how to repair",
    "where to buy",
    "where to recycle",
    "borrow",
    "opening hours",
    "price of",
    "rules for",
    "history of",
]
THINGS = """kettle,bicycle,umbrella,lamp,piano,ladder,tent,kite,boat,radio,clock,globe,telescope,violin,
wheelbarrow,lawn mower,sewing machine,typewriter,camera,accordion,rain barrel,beehive,hammock,sledge,
canoe,easel,loom,anvil,bookcase,birdhouse,greenhouse,fountain,windmill,lighthouse,carousel,sundial""".replace(
    "\n", ""
)
TOPICS = """birds,mushrooms,ferns,beetles,owls,comets,tides,clouds,fossils,frogs,herbs,orchids,bats,snails,
bread,soup,jam,honey,cheese,apples,pears,plums,walnuts,pumpkins""".replace("\n", "")
PLACES = [
    "near the harbour",
    "in the old town",
    "by the river",
    "at the station",
    "near the park",
    "on the hill",
]
FORMS = ["walk", "course", "exhibition", "club", "fair", "talk"]
LETTERS = ("results of test", "reminder letter", "parking fine", "appeal number", "appointment")


def main() -> None:
    """Write the file beside this script, or where the first argument says."""
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).with_name("searches.parquet")
    parquet.write_table(searches(), target, compression="zstd", compression_level=19)


def searches() -> pa.Table:
    """The table: time, query."""
    generator = random.Random(SEED)
    queries = vocabulary(generator)
    weights = list(accumulate((rank + 2.7) ** -EXPONENT for rank in range(len(queries))))
    chosen = generator.choices(queries, cum_weights=weights, k=ROWS)
    for row in range(ROWS):
        if generator.random() < PRIVATE_SHARE:
            chosen[row] = f"{generator.choice(LETTERS)} {generator.randrange(10**7):07}"
    seconds = sorted(generator.choices(range(WEEK), k=ROWS))
    times = [START + timedelta(seconds=second - second % 60) for second in seconds]
    return pa.table({"time": pa.array(times, pa.timestamp("ms")), "query": chosen})


def vocabulary(generator: random.Random) -> list[str]:
    """Every search there is, the most frequent first."""
    things, topics = THINGS.split(","), TOPICS.split(",")
    rare = [f"{action} {thing}" for action, thing in product(ACTIONS, things)]
    rare += [f"{topic} {form}" for topic, form in product(topics, FORMS)]
    rarest = [f"{search} {place}" for search, place in product(rare, PLACES)]
    for searches_of_one_kind in (rare, rarest):
        generator.shuffle(searches_of_one_kind)
    return COMMON.split("|") + rare + rarest


if __name__ == "__main__":
    main()
