"""Links of the pages to files of the repository that are no pages."""

import re
from pathlib import Path

DOCS = next(folder for folder in Path(__file__).parents if (folder / "pyproject.toml").exists()) / "docs"
LINK = re.compile(r"(?<!!)\[([^\]]+)\]\(((?:\.\./)+[^)#\s]*)(?:#[^)]*)?\)")


def beyond_the_pages(app, name, source):
    """Show the path of such a file instead of a link, which a page that is read offline could not follow."""
    page = (DOCS / name).parent

    def said(link):
        place = (page / link[2]).resolve()
        if place.is_relative_to(DOCS) and place.suffix == ".md":
            return link[0]
        path = f"`{place.relative_to(DOCS.parent)}`"
        return path if link[1].strip("`") == path.strip("`") else f"{link[1]} ({path})"

    source[0] = LINK.sub(said, source[0])
