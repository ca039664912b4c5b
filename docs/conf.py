"""The documentation site: `make docs` builds it into build/docs.

The source folder is the root of the repository, so that README.md, benchmarks/README.md and the others are pages where
they are, and a link between two of them is the same path here and on a Git host.
"""

from __future__ import annotations

import logging
import os
import sys
from functools import partial
from pathlib import Path

from jupyter_cache.executors import utils

from pydaub import __version__

ROOT = Path(__file__).parents[1]
# What tutorials inherit: `pydaub` on the path; plain output, although Jupyter asks for colours; no advice on widgets.
os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
os.environ["TTY_COMPATIBLE"] = "0"
os.environ["PYTHONWARNINGS"] = "ignore:IProgress not found"

project = "pydaub"
author = "The pydaub developers"
project_copyright = author
version = release = __version__

extensions = ["myst_nb", "numpydoc", "sphinx.ext.autodoc"]
root_doc = "docs/index"
include_patterns = ["*.md", "docs/**.md", "examples/**.md", "benchmarks/README.md", "experiments/README.md"]
exclude_patterns = [".*", "build", "dist", "src", "tests"]
nitpicky = True

# Pages and tutorials. Anchors of headings are those of a Git host. Tutorials run in an empty folder; one that has not
# changed is taken from the cache.
myst_heading_anchors = 4
myst_enable_extensions = ["colon_fence"]
nb_execution_mode = "cache"
nb_execution_cache_path = str(ROOT / "build" / "docs-cache")
nb_execution_in_temp = True
nb_execution_raise_on_error = True
nb_execution_timeout = 300
nb_execution_show_tb = True
# What a command prints arrives in pieces. myst-nb would put each on a line of its own; nbclient joins them.
logging.getLogger("traitlets").setLevel(logging.WARNING)
utils.executenb = partial(utils.executenb, coalesce_streams=True)
highlight_language = "text"

# The API, from docstrings.
default_role = "literal"  # `name` is code, as in Markdown
autodoc_typehints = "none"  # the docstrings say what a parameter takes
autodoc_member_order = "bysource"
autodoc_default_options = {"members": True, "exclude-members": "set_fit_request,set_score_request"}
numpydoc_show_class_members = False

html_theme = "furo"
html_title = f"pydaub {version}"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sourcelink = False
html_show_search_summary = False  # a page that is opened as a file may not fetch others
html_additional_pages = {"index": "redirect.html"}  # the first page is docs/index.html
templates_path = ["templates"]
