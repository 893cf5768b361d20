"""The Sphinx extension: run the claims of pages at build time; add badges, ledger and index."""

from pathlib import Path

from sphinx.application import Sphinx
from sphinx.util.typing import ExtensionMetadata

from claimbook import __version__
from claimbook.engine.environment import digest_of_code
from claimbook.sphinx import (
    build,
    chapter,
    complaints,
    elements,
    lab_pages,
    outdated,
    page_outputs,
    search,
    sidebar,
    theme,
)
from claimbook.sphinx.directives import (
    AskedDirective,
    ClaimDirective,
    RemarkDirective,
    ViewDirective,
)
from claimbook.sphinx.domain import ROLE, ClaimDomain
from claimbook.sphinx.execute import cells, labs
from claimbook.sphinx.views.explorers import ExplorerDirective
from claimbook.sphinx.views.guides import GUIDES

PARTS = (
    *(complaints, elements, outdated, build, chapter, cells, labs, lab_pages),
    *(page_outputs, search, sidebar, theme),
)
STATIC = Path(__file__).with_name("static")
CODE = Path(__file__).parents[1]
"""The package; when any of its code changes, all pages are read and written again."""
READ = {".py", ".html", ".toml", ".txt", ".xml"}
"""Suffixes of the files that count as code."""


def setup(app: Sphinx) -> ExtensionMetadata:
    """Register configuration, directives, roles, nodes and the parts."""
    app.add_config_value("claimbook_strict", default=False, rebuild="", types=(bool, int))
    app.add_config_value("claimbook_strict_cuda", default=False, rebuild="", types=(bool, int))
    app.add_config_value("claimbook_whole_register", default=False, rebuild="", types=bool)
    app.add_config_value("claimbook_max_age", default=None, rebuild="", types=(int, str))
    app.add_config_value("claimbook_downloads", default="", rebuild="html", types=str)
    app.add_config_value("claimbook_repository", default="", rebuild="html", types=str)
    app.add_domain(ClaimDomain)
    app.add_directive("claim", ClaimDirective)
    app.add_directive("asked", AskedDirective)
    app.add_directive("remark", RemarkDirective)
    for kind in (*build.VIEWS, *GUIDES):
        app.add_directive(kind, ViewDirective)
    app.add_directive("explorer", ExplorerDirective)
    # `{claim}`, for `{claim:claim}`.
    app.add_role("claim", lambda _, *rest: ROLE("claim:claim", *rest))
    app.connect("config-inited", lambda _, config: config.html_static_path.append(str(STATIC)))
    app.add_css_file("claimbook.css")
    app.add_js_file("claimbook.js", defer="defer")
    for part in PARTS:
        part.connect(app)
    code = (path for path in sorted(CODE.rglob("[!.]*")) if path.suffix in READ)
    return {
        "version": __version__,
        "env_version": int(digest_of_code(code), 16),
        "parallel_read_safe": True,
        "parallel_write_safe": True,
    }
