"""How the book is built. Versions are pinned in constraints.txt."""

import importlib.metadata
import os
import zlib
from pathlib import Path
from urllib.parse import urlsplit

from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

from claimbook import __version__
from claimbook.engine import environment
from claimbook.pages.myst import MYST_EXTENSIONS

HERE = Path(__file__).parent
TORCH = environment.release(importlib.metadata.version("torch"))

project = "PyTorch Under Test"
author = "the authors of PyTorch Under Test"
copyright = f"2026, {author}"
version = release = __version__

extensions = [
    "claimbook.sphinx",
    "myst_parser",
    "sphinx.ext.intersphinx",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
    "sphinxcontrib.bibtex",
]
nitpicky = True
exclude_patterns = ["_build", "register/README.md"]
myst_enable_extensions = list(MYST_EXTENSIONS)
myst_heading_anchors = 3
# As MyST sets it later; each build would say that the configuration had changed.
MATH = "tex2jax_process|mathjax_process|math|output_area"
mathjax4_config = {"options": {"processHtmlClass": MATH}}

# A lab's notebook begins with the helpers that draw its pictures, which no package index has.
REPOSITORY = os.environ.get("BOOK_REPOSITORY", "")
HELPERS = "# Needs claimbook.teach, the helpers of this book: install the book's package."
INSTALL = f"""\
import importlib.util

if not importlib.util.find_spec("claimbook"):
    %pip install --quiet git+https://github.com/{REPOSITORY}"""

sphinx_gallery_conf = {
    "first_notebook_cell": INSTALL if REPOSITORY else HELPERS,
    "examples_dirs": "../gallery",
    "gallery_dirs": "labs",
    "subsection_order": [
        *(
            f"../gallery/{part}"
            for part in ("memory", "autograd", "modules", "optimisation", "devices", "data")
        ),
        "*",  # a new part
    ],
    "download_all_examples": False,
    "show_signature": False,
    "min_reported_time": 60,
    "write_computation_times": False,
    "image_scrapers": ("claimbook.sphinx.execute.labs.scrape",),
    "reset_modules": ("claimbook.sphinx.execute.labs.reset",),
    "reset_modules_order": "both",
}

bibtex_bibfiles = ["references.bib"]
bibtex_reference_style = "author_year"
bibtex_default_style = "plain"

claimbook_whole_register = True  # an entry without an answer fails the build

# Where the site and its sources are published. What needs an address is left out where none is.
html_baseurl = os.environ.get("BOOK_URL", "")
claimbook_repository = REPOSITORY
claimbook_version = os.environ.get("BOOK_VERSION", "").removeprefix("v")  # of a site that stays
claimbook_downloads = os.environ.get("BOOK_DOWNLOADS", "")  # the address of the folder with them

# What only a published site has takes half a second, which a build at home need not wait for.
if html_baseurl:
    extensions += ["sphinxext.opengraph", "notfound.extension"]
# Where a link to a page is shared, its title and first paragraph are shown beside a claim.
ogp_site_url = f"{html_baseurl.rstrip('/')}/"
ogp_image, ogp_image_alt = "_static/claim.png", "A claim with its code, output and verdict."
ogp_social_cards = {"enable": False}
ogp_custom_meta_tags = ['<meta name="twitter:card" content="summary_large_image">']
# 404.html is shown at any address: its links begin at the folder of the site.
notfound_urls_prefix = urlsplit(ogp_site_url).path

html_theme = "furo"
html_title = project
html_static_path = ["_static"]
html_logo = html_favicon = "_static/mark.svg"
html_copy_source = False
html_show_sourcelink = False
html_use_index = False  # all that it would hold is in the index of claims
html_theme_options = {"navigation_with_keys": True}

epub_basename = "pytorch-under-test"
epub_description = "A book about PyTorch in which every claim is an example that runs."
epub_identifier = epub_uid = epub_basename  # epubcheck wants them equal
epub_show_urls = "no"
epub_tocdup = False
epub_tocscope = "includehidden"  # the start page shows no contents
epub_css_files = ["epub.css"]
epub_exclude_files = ["404.xhtml"]
suppress_warnings = [
    "epub.unknown_project_files",  # scripts and data, for the site alone
    "sphinx_gallery.space_in_filename",  # of a folder above: no link leads there
]

# A claim is copied whole, with what it finds in its namespace, and without what it prints.
copybutton_selector = (
    "div.claim-cells, div.highlight:not(.claim-cells *, details:not(.lab-code) *) > pre"
)
copybutton_exclude = ".linenos, .gp, .go, .claim-output, .prediction-show"


def _inventory() -> str:
    """Packs the names in inventories/torch.txt as Sphinx reads them, for builds without network."""
    lines = (HERE / "inventories" / "torch.txt").read_text("utf-8").splitlines()
    head = f"# Sphinx inventory version 2\n# Project: torch\n# Version: {TORCH}\n"
    head += "# The remainder of this file is compressed using zlib.\n"
    body = "".join(f"{line}\n" for line in lines if line and not line.startswith("#"))
    path = HERE / "_build" / "torch.inv"
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(head.encode() + zlib.compress(body.encode()))
    return str(path)


DOCUMENTATION = f"https://docs.pytorch.org/docs/{TORCH.rpartition('.')[0]}/"
intersphinx_mapping = {"torch": (DOCUMENTATION, (None, _inventory()))}
intersphinx_timeout = 5


def _keep_citations(app: Sphinx, env: BuildEnvironment, docnames: list[str]) -> None:
    """Leaves the citations of the last build as they are, if no page is read that has any."""
    domain = env.get_domain("cite")
    places = {ref.docname for ref in domain.citation_refs} | {
        key.docname for key in domain.bibliographies
    }
    new = any("{cite:" in Path(env.doc2path(name)).read_text("utf-8") for name in docnames)
    if domain.citations and not new and places.isdisjoint(docnames):
        domain.env_updated = list


def setup(app: Sphinx) -> None:
    """Set what only this book needs of Sphinx."""
    app.connect("env-before-read-docs", _keep_citations)
