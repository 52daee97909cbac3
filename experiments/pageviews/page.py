"""The results as a page."""

from __future__ import annotations

from typing import Any

PAGE = """# A day of page views by country, project and page

Generated on {date} by `python -m experiments.pageviews.run`; the figures are in `results.json`. The data
are synthetic, in the shape of the daily release of Wikimedia: {day[rows]:,} views of {day[devices]:,}
devices, {day[countries]} countries, {day[projects]} projects, {day[pages]:,} pages, which makes
{day[possible]:,} possible keys, of which {day[keys]:,} occur. The parameters are those that Wikimedia
publishes: the first {asked[first]} different pages of a device and day count, the budget is rho =
{asked[rho]:g} of zero-concentrated differential privacy, and counts from {asked[threshold]} on are
released.

One command publishes the day. It does not enumerate keys; for keys that nobody names it needs delta =
{asked[delta]:g} besides.

```
{command}
```

It took {took[cpu_s]:.1f} s of processor time and at most {took[peak_mb]:,.0f} MB.

| | counts | sigma | least published | rows | missing of {frequent:,} | rows of no device | median error |
|---|---|---|---|---|---|---|---|
{rows}
*Every possible key* is a simulation of the published parameters on the same counts: Gaussian noise
on each possible key, whether it occurs or not. A key is missing if {asked[threshold]} devices have it after
the bound and it has no row. Errors are against the devices that have the key without the bound, which
lowers counts in both ways alike.
"""


def page(results: dict[str, Any]) -> str:
    """Return the page."""
    return PAGE.format(
        **{**results, "rows": "".join(row(name, each) for name, each in results["rows"].items())}
    )


def row(name: str, found: dict[str, Any]) -> str:
    """Return one line."""
    sigma = f"{float(found['sigma']):.1f}" if "sigma" in found else ""
    return (
        f"| {name} | {found['drawn']:,} | {sigma} | {found.get('threshold', '')} | {found['published']:,} "
        f"| {found['dropped']:.1%} | {found['spurious']:.2%} | {found['error']:.1%} |\n"
    )
