"""The whole site, built as `nox -s docs` builds it."""

import ast
import json
import os
import pickle
import re
import sys
from collections import Counter
from dataclasses import dataclass
from html.parser import HTMLParser
from pydoc import locate
from urllib.parse import unquote, urlsplit

import jsonschema
import pytest
from bs4 import BeautifulSoup

from claimbook.engine import environment
from claimbook.sphinx.domain import ClaimDomain
from helpers import ROOT, SITE, data_of, python, whole_book

PAGES = [
    page
    for path in sorted((ROOT / "docs").rglob("*.md"))
    if (page := path.relative_to(ROOT / "docs")).parts[0] not in ("_build", "labs", "register")
]
NO_PROSE = {"code", "pre", "script", "svg", "textarea", "figure"}
HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
LOADING = {"img": "src", "script": "src", "iframe": "src", "link": "href", "source": "src"}


@dataclass
class Copied:
    """What the copy button of a claim gives, and whether the claim shows an error."""

    code: str = ""
    fails: bool = False


class Page(HTMLParser):
    """Collects what a page loads, its links, places, headings and prose, and its claims' code."""

    def __init__(self, path):
        super().__init__()
        self.path, self.loads, self.links, self.ids, self.unnamed = path, [], [], set(), []
        self.copied, self._copies, self._around = [], False, []
        self.prose, self.headings, self._inside = [], [], Counter()
        self.feed(path.read_text("utf-8"))
        self.close()

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        self._inside[tag] += 1
        self.ids.add(attrs.get("id"))
        if tag in HEADINGS:
            self.headings.append("")
        if tag in LOADING and attrs.get("rel") not in ("canonical", "author", "prev", "next"):
            self.loads.append(attrs.get(LOADING[tag]) or "")
        if tag == "a" and "href" in attrs:
            self.links.append(attrs["href"])
        thumbnail = "thumb" in attrs.get("src", "") or attrs.get("class") == "only-dark"
        if tag == "img" and not attrs.get("alt") and not thumbnail:
            self.unnamed.append(attrs.get("src"))
        if tag == "div":
            self._enter({*(attrs.get("class") or "").split()})

    def _enter(self, kinds):
        self._around.append(self._copies)
        if "claim-cells" in kinds:
            self.copied.append(Copied())
            self._copies = True
        elif self._copies and "claim-output" in kinds:
            self.copied[-1].fails |= "claim-error" in kinds
            self._copies = False

    def handle_endtag(self, tag):
        self._inside[tag] -= 1
        if tag == "div":
            self._copies = self._around.pop()

    def handle_data(self, data):
        if self._copies:
            self.copied[-1].code += data
        if any(self._inside[tag] for tag in HEADINGS):
            self.headings[-1] += data
        if self._inside["article"] and not any(self._inside[tag] for tag in NO_PROSE):
            self.prose.append(data)


@pytest.fixture(scope="module")
def build():
    """The build of the site; what `nox -s docs` built before stands as far as it holds."""
    command = ["-m", "sphinx", "-W", "--keep-going", "-j", "auto"]
    return python(*command, "docs", str(SITE.relative_to(ROOT)), cwd=ROOT)


@pytest.fixture(scope="module")
def site(build):
    """The site, also if the build warned of something: that fails one test, not all."""
    assert (SITE / "claims.json").exists(), build.stdout + build.stderr
    return SITE


@pytest.fixture(scope="module")
def pages(site):
    """Every page of the site by its path."""
    return {path: Page(path) for path in sorted(site.rglob("*.html"))}


def test_the_build_is_green(build):
    """It warns of nothing; what comes out otherwise on this machine is told, and no warning."""
    assert build.returncode == 0, build.stdout + build.stderr


def test_every_claim_ran_as_printed(site):
    """claims.json says of every claim that a CPU runs that it passed, with this torch.

    A claim about a machine may come out otherwise on this one. A claim of builds without CUDA is
    not run where torch is another.
    """
    of_cpu_builds = {claim.id for claim in whole_book().claims if claim.cpu_build}
    skipped = set() if environment.torch_version().endswith("+cpu") else of_cpu_builds
    data = json.loads((site / "claims.json").read_text("utf-8"))
    lanes = {claim["id"]: claim["lanes"].get("cpu") for claim in data["claims"]}
    found = {name: (lane["status"], lane["outcome"]) for name, lane in lanes.items() if lane}
    assert found.keys() >= of_cpu_builds
    of_machines = {claim["id"] for claim in data["claims"] if claim["machine"]}
    varied = {name for name in of_machines if found.get(name) == ("varied", "varied")}
    differ = {name for name in found if found[name] != ("current", "passed")}
    assert differ - varied == skipped


@pytest.fixture(scope="module")
def domain(site):
    """What the build knows of the book."""
    return ClaimDomain(pickle.loads((site / ".doctrees/environment.pickle").read_bytes()))


def test_scan_and_build_see_equal_claims(domain):
    """On every page Sphinx keeps just what the page scan reads."""
    scanned = {page.path: page for page in whole_book().pages if page.path.startswith("docs/")}
    del scanned["docs/register/README.md"]
    pages = {page.scanned.path: page.scanned for page in domain.pages.values()}
    assert {path: page for path, page in pages.items() if path} == scanned
    assert sum(len(page.claims) for page in pages.values()) > 30


def test_claims_json_fits_its_schema(site):
    """What the site publishes has the form that it publishes."""
    schema = json.loads((site / "_static/claims.schema.json").read_text("utf-8"))
    jsonschema.validate(json.loads((site / "claims.json").read_text("utf-8")), schema)


def test_every_entry_of_the_register_is_there(site):
    """claims.json has each entry once; one that no claim speaks of has no relation."""
    data = json.loads((site / "claims.json").read_text("utf-8"))
    register = "".join(p.read_text("utf-8") for p in (ROOT / "docs/register").glob("*.yaml"))
    ids = [entry["id"] for entry in data["entries"]]
    assert sorted(ids) == sorted(
        line.split("id: ")[1] for line in register.splitlines() if line.startswith("    - id: ")
    )
    assert all(
        (entry["relation"] is None) == (not entry["claims"] and entry["remark"] is None)
        for entry in data["entries"]
    )


def test_no_page_loads_from_another_host(pages):
    """Scripts, styles and pictures come with the site."""
    foreign = [
        (path.name, url)
        for path, page in pages.items()
        for url in page.loads
        if urlsplit(url).netloc
    ]
    assert foreign == []


def test_internal_links_resolve(pages):
    """A link within the site leads to a file, and to a place on it."""
    broken = []
    for path, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if parts.scheme or parts.netloc:
                continue
            place = unquote(parts.fragment)
            if not target.exists() or (
                place and target in pages and place not in pages[target].ids
            ):
                broken.append((path.name, link))
    assert broken == []


def test_cards_and_hits_lead_to_places(site, pages):
    """Each card and each thing that the search may find is on the page that it names."""
    cards = [card for file in site.glob("practice/*.js") for card in data_of(file)[1]]
    hits = [place[0] for place in data_of(site / "searchdata.js")[0]["places"]]
    lines = zip(hits, data_of(site / "searchlines.js")[0], strict=True)
    claims = {
        f"{hit.partition('#')[0]}#claim-{name}" for hit, said in lines for name, _ in said if name
    }
    assert min(len(cards), len(claims)) > 1500
    assert len(hits) > 250
    targets = [*(card["link"] for card in cards), *hits, *claims]
    assert [target for target in targets if not is_place(pages, site, target)] == []


def is_place(pages, site, target):
    """Whether there is such a page with such an id."""
    name, _, place = target.partition("#")
    page = pages.get(site / name)
    return page is not None and (not place or place in page.ids)


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_no_page_ends_as_code(site, pages, page):
    """A fence that is closed with too few backticks swallows what comes after it."""
    written = re.findall("^#+ (.+)$", (ROOT / "docs" / page).read_text("utf-8"), re.MULTILINE)
    shown = pages[(site / page).with_suffix(".html")].headings
    assert letters(written[-1]) in map(letters, shown)


def letters(text):
    """What a heading says, however it is marked up."""
    return re.sub(r"\W", "", text)


def test_pictures_have_a_text(pages):
    """Every picture says in words what it shows; a thumbnail stands beside its title."""
    assert {path.name: page.unnamed for path, page in pages.items() if page.unnamed} == {}


def test_each_reference_leads_to_its_text(site):
    """Whoever doubts a citation opens it: a link to arXiv, to a publisher, or by DOI."""
    soup = BeautifulSoup((site / "references.html").read_text("utf-8"), "html.parser")
    cited = soup.select("div.citation")
    assert len(cited) == (ROOT / "docs/references.bib").read_text("utf-8").count("\n}")
    unlinked = [one.get_text(" ") for one in cited if not one.select("p > a[href^=http]")]
    assert unlinked == []


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of old modules of torch
def test_inventory_names_are_torchs():
    """Each name that links to torch's documentation is a name of the installed torch."""
    lines = (ROOT / "docs/inventories/torch.txt").read_text("utf-8").splitlines()
    names = [line.split()[0] for line in lines if not line.startswith("#")]
    assert names == sorted(names)
    assert [name for name in names if locate(name) is None] == []


def test_ci_runs_what_the_readme_says():
    """The README shows two commands in bash fences, the build and the tests; CI runs those."""
    fences = (ROOT / "README.md").read_text("utf-8").split("```bash\n")[1:]
    commands = "".join(fence.split("```")[0] for fence in fences).splitlines()
    assert [command.split("&&")[-1].strip() for command in commands] == [
        ".venv/bin/nox -s docs",
        ".venv/bin/nox -s tests",
    ]
    assert "README.md" in (ROOT / ".ci/run").read_text("utf-8")


def test_copied_code_is_python(pages):
    """Whatever a copy button gives is a Python program with its imports."""
    codes = [claim.code for page in pages.values() for claim in page.copied]
    assert len(codes) > 100
    for code in codes:
        ast.parse(code)
        assert "import torch" in code


def test_copied_code_runs(site, pages):
    """It runs as pasted into a new program, up to the error that the claim shows."""
    program = "import sys\n"
    for number, claim in enumerate(pages[site / "autograd/gradients-add-up.html"].copied):
        program += f"try:\n    exec({claim.code!r}, {{}})\nexcept Exception as error:\n"
        program += f"    {claim.fails} or sys.exit(f'claim {number}: {{error}}')\n"
    done = python("-c", program, OMP_NUM_THREADS="1")
    assert (done.returncode, done.stderr) == (0, "")


AUTHORS = re.compile(r"(?<!share )\b(?:claims?|lanes?|mutants?)\b", re.IGNORECASE)
CALLED = re.compile(r"[\w.]+\([^()\s]*['\"][^()]*\)")
"""A call, as sources write it without the marks of code."""


@pytest.fixture(scope="module")
def prose(site, pages):
    """The text of each page for readers, by element, without code and pictures."""
    names = {path.relative_to(site).with_suffix("").as_posix(): path for path in pages}
    authors = ("_static", "contributing", "genindex")
    return {n: pages[path].prose for n, path in names.items() if not n.startswith(authors)}


def test_readers_see_no_words_of_authors(prose):
    """A claim is a statement to them, a lane a machine, and a mutant an altered copy."""
    assert [
        (name, part) for name, parts in prose.items() for part in parts if AUTHORS.search(part)
    ] == []


def test_all_quotes_are_curly(prose):
    """Also where a statement is shown away from its page: in lists, links, tables and folds."""
    straight = [
        (name, part)
        for name, parts in prose.items()
        for part in parts
        if re.search("['\"]", CALLED.sub("", part))
    ]
    assert straight == []


def test_the_search_quotes_as_pages_do(site):
    """Titles, short answers and lines of hits have the quotes of the pages."""
    (data,), (lines,) = data_of(site / "searchdata.js"), data_of(site / "searchlines.js")
    said = [text for _, *texts in data["places"] for text in texts[:3]]
    said += [text for each in lines for _, text in each]
    plain = [re.sub("`[^`]*`", "", text) for text in said]
    assert [t for t in plain if re.search("['\"]", CALLED.sub("", t))] == []


def test_the_benchmark_names_its_machines(site):
    """Each table of figures is named where the machines are that measured them."""
    page = BeautifulSoup((site / "checked.html").read_text("utf-8"), "html.parser")
    tables = {table.caption.span.text: table for table in page.select("article table")}
    *figures, machines = tables
    rows = [[cell.text for cell in row("td")] for row in tables[machines].select("tbody tr")]
    assert [row[0] for row in rows] == figures
    parts = json.loads((ROOT / "docs/records/bench.json").read_text("utf-8")).values()
    for (_, machine, *_), part in zip(rows, parts, strict=True):
        assert machine.startswith(f"{part['cores']} cores of {part['environment']['device']}")


def test_figures_of_the_benchmark_are_those_kept():
    """The page shows what the benchmark would write for the figures that are kept."""
    code = "import json, runpy; shown = runpy.run_path('tests/bench/__main__.py')['shown']\n"
    code += "print(json.dumps(shown(json.load(open('docs/records/bench.json')))))"
    done = python("-c", code, cwd=ROOT, PYTHONPATH=os.pathsep.join([*sys.path, "tests/bench"]))
    tables = json.loads(done.stdout)
    assert len(tables) == 5
    for name, table in tables.items():
        assert table == (ROOT / f"docs/records/bench-{name}.csv").read_text("utf-8")


def test_contents_of_a_page_are_its_questions(site):
    """What every question has, its advice and its references, is not listed beside the page."""
    page = BeautifulSoup((site / "autograd/hooks.html").read_text("utf-8"), "html.parser")
    listed = [link.text for link in page.select(".toc-tree a")]
    assert "Do hooks leak memory?" in listed
    assert not {"In practice", "Often said, and wrong", "See also"} & {*listed}
    assert all(each.select("li") for each in page.select(".toc-tree ul"))
