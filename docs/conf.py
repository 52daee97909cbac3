"""How Sphinx makes the documentation (`make docs`): pages, and references made from the program itself."""

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

from links import beyond_the_pages  # noqa: E402

from hushcount import __version__  # noqa: E402
from made import write_commands, write_names  # noqa: E402

project = "hushcount"
author = "The hushcount contributors"
copyright = "the hushcount contributors"  # noqa: A001
version = release = __version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 4

html_theme = "furo"
html_title = f"hushcount {version}"
html_copy_source = False

autodoc_typehints = "none"
autodoc_member_order = "bysource"
napoleon_google_docstring = False
napoleon_use_rtype = False
add_module_names = False
python_use_unqualified_type_names = True
toc_object_entries = False
smartquotes = False  # options begin with two hyphens
suppress_warnings = ["ref.python"]  # words of a type such as "list of keys" are taken for names


def setup(app):
    """Write the references before the pages are read, and let links lead out of the pages."""
    write_commands(HERE / "reference" / "commands")
    write_names(HERE / "reference" / "python")
    app.connect("source-read", beyond_the_pages)
