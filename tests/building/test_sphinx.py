"""Small books, built as the real one is: what is written, when, and what is warned of."""

import json
import re
import zlib
from dataclasses import replace

import jsonschema
import pytest
from sphinx.util.console import strip_escape_sequences
from sphinx.util.inventory import InventoryFile

from claimbook.checking.difference import Kind, Severity
from claimbook.engine import environment
from claimbook.engine.pool import Runner
from claimbook.model import (
    Environment,
    Factor,
    Lane,
    Outcome,
    Provenance,
    RelationKind,
    Run,
    Status,
)
from claimbook.pages.book import Book
from claimbook.records.runs import Records, Shown, record_of
from claimbook.sphinx import STATIC
from claimbook.sphinx.card.ran import how_it_ran
from claimbook.sphinx.execute.lanes import _with_progress, run_by
from claimbook.sphinx.render import WORDING
from helpers import CONF, PAGES, PRODUCT, SHAPE, SUM, TinyBook, claim, claim_text

SCHEMA = json.loads((STATIC / "claims.schema.json").read_text("utf-8"))


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """A book that was built once, without any warning."""
    book = TinyBook(tmp_path_factory.mktemp("built"))
    done = book.sphinx()
    assert (done.returncode, done.stderr) == (0, "")
    return book


def warned(done) -> list[str]:
    """The warnings of a build, each without the lines beneath it."""
    text = strip_escape_sequences(done.stderr)
    return [line for line in text.splitlines() if "WARNING: " in line or "ERROR: " in line]


def html(book, page) -> str:
    return (book.site / f"{page}.html").read_text("utf-8")


def claims_json(book):
    return json.loads((book.site / "claims.json").read_text("utf-8"))


def test_claims_json_fits_its_schema(built):
    """What leaves the build has the form that others rely on."""
    jsonschema.validate(claims_json(built), SCHEMA)
    assert json.loads((built.site / "_static/claims.schema.json").read_text("utf-8")) == SCHEMA


def test_the_schema_has_the_words_of_the_code():
    """A word that is added to either stands in the other."""
    ran = {*Outcome} - {Outcome.SKIPPED}
    parts = SCHEMA["$defs"]
    claim, lane, run = (parts[name]["properties"] for name in ("claim", "lane", "run"))
    releases = {"holds", *Severity, Outcome.CRASHED, Outcome.TIMED_OUT}
    assert set(parts["releases"]["additionalProperties"]["enum"]) == releases
    assert set(parts["entry"]["properties"]["relation"]["enum"]) == {*RelationKind, "remark", None}
    assert set(claim["relations"]["properties"]) == {*RelationKind}
    assert set(claim["machine"]["items"]["enum"]) == {*Factor}
    assert set(claim["machines"]["additionalProperties"]["enum"]) == ran
    assert set(lane["status"]["enum"]) == {*Status}
    assert set(run["outcome"]["enum"]) == {*ran, None}


def test_readers_have_words_for_each_value():
    """The groups of `wording.toml` are of the values of the code."""
    words = {group: {*known} for group, known in WORDING.items()}
    assert words["verdicts"] == {*RelationKind, "remark", "open"}
    assert words["status"] == words["statuses"] == {*Status}
    assert words["lanes"] == words["only"] == words["with"] == {*Lane}
    assert (words["factors"], words["severities"]) == ({*Factor}, {*Severity})
    assert words["differences_back"] <= words["differences"] <= {*Kind}


def test_claims_json_has_every_entry(built):
    """Each entry says what became of it; one that is still open has no relation."""
    entries = claims_json(built)["entries"]
    assert [(e["id"], e["relation"], e["claims"], e["remark"]) for e in entries] == [
        ("basics-01.1", "confirms", ["sum-adds"], None),
        ("basics-01.2", "corrects", ["ones-have-a-shape"], None),
        ("basics-01.3", None, [], None),
        ("basics-02.1", "remark", [], "History: `sum-adds`."),
    ]


def test_claims_json_has_every_claim(built):
    """A claim stands there with code, place, relations, and what each lane printed."""
    claim = {c["id"]: c for c in claims_json(built)["claims"]}["sum-adds"]
    cpu, cuda = claim.pop("lanes").values()
    assert claim == {
        "id": "sum-adds",
        "statement": "It says so.",
        "page": "a/sums",
        "anchor": "claim-sum-adds",
        "relations": {"confirms": ["basics-01.1"]},
        "code": "torch.ones(2).sum()\n",
        "machine": [],
        "machines": {},
        "releases": {},
        "cuda_releases": {},
        "falsified": None,
        "swept": None,
        "since": None,
        "changed": None,
    }
    assert (cpu["status"], cpu["outcome"], cpu["outputs"]) == ("current", "passed", ["tensor(2.)"])
    assert cuda == {
        "status": "missing",
        **dict.fromkeys(("outcome", "message", "torch", "device", "recorded", "seconds")),
        "outputs": [],
        "measurements": [],
        "others": [],
    }


def test_a_lane_that_did_not_run_is_said_so(built):
    """A card never shows a device, a version or a date for a lane without a record."""
    whole = built.page("a/sums")
    ran = whole.select_one(".provenance").text
    assert re.fullmatch(r"3 examples ran as printed: CPU \(.*\)\.", ran)
    page = whole.select_one("#claim-sum-adds")
    assert not page.select(".claim-badge")
    told = [line.text for line in page.select(".claim-more > p") if re.match("CPU|CUDA", line.text)]
    assert len(told) == 1
    assert re.fullmatch(r"CPU: torch .*, .*, \d{4}-\d\d-\d\d", told[0])


def test_what_no_run_has_shown_is_told_apart(tmp_path):
    """An output of CUDA says that it was not run yet; where a lane ran, nothing is said."""
    two = claim_text("two-lanes", ">>> device.type\n'cpu'").replace(
        "```\n:::", "```\n\n```pycon cuda\n>>> device.type\n'cuda'\n```\n:::"
    )
    alone = claim_text("cuda-alone", ">>> device.type\n'cuda'", ":lanes: cuda\n")
    book = TinyBook(tmp_path, {"index": f"# I\n\n{SUM}\n{two}\n{alone}"})
    assert book.sphinx().returncode == 0
    page = book.page("index")
    shown = {
        name: [
            (box.p.text, "unproved" in box["class"])
            for box in page.select(f"#claim-{name} .claim-output")
        ]
        for name in ("sum-adds", "two-lanes", "cuda-alone")
    }
    assert shown == {
        "sum-adds": [("Output", False)],
        "two-lanes": [("on CPU", False), ("on CUDA, not run yet", True)],
        "cuda-alone": [("not run yet", True)],
    }


def test_a_card_says_at_which_try_a_claim_held():
    """Nothing is said of one that held at once."""
    one, where = claim("a", ">>> 1\n1"), Environment("2", "3.11", "Linux", "CPU")
    run = Run("a", Lane.CPU, Outcome.PASSED)
    record = record_of(one, run, where, Provenance("2026-01-02", None, None))
    later = replace(record, message="passed on try 2 of 3")
    lanes = ({Lane.CPU: Shown(Status.CURRENT, (each,))} for each in (record, later))
    said = [next(how_it_ran(one, each, None, None, "")).astext() for each in lanes]
    at_once = "CPU: torch 2, CPU, 2026-01-02"
    assert said == [at_once, f"{at_once}, passed on try 2 of 3"]


def test_what_is_printed_is_text(built):
    """Markup in an output is shown, not obeyed."""
    page = html(built, "a/sums")
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page


def test_code_is_shown_without_prompts(built):
    """A reader sees code in one box and its output in another."""
    assert "&gt;&gt;&gt;" not in html(built, "a/sums")


def test_ledger_and_counts(built):
    """The ledger has a row for each entry, the start page counts them."""
    ledger, page = html(built, "ledger"), built.page("index")
    assert re.findall(r'id="entry-([\w.-]+)"', ledger) == [
        e["id"] for e in claims_json(built)["entries"]
    ]
    remark = re.search(r"History: (<a .*?</a>)", ledger)[1]
    assert 'href="a/sums.html#claim-sum-adds"' in remark
    legend = {item.a["href"]: item.text.strip() for item in page.select("ul.verdicts li")}
    assert legend == {
        "ledger.html#verdict-confirms": "1 right",
        "ledger.html#verdict-corrects": "1 wrong",
        "ledger.html#verdict-remark": "1 no run can tell",
        "ledger.html#verdict-open": "1 still open",
    }
    assert all(f'id="{link.partition("#")[2]}"' in ledger for link in legend)
    assert [part["style"] for part in page.select(".shares span")] == ["flex-grow: 1"] * 4
    totals = [item.text.strip() for item in page.select("ul.totals li")]
    when = rf"\d{{4}}-\d\d-\d\d with torch {re.escape(TORCH)} on .+"
    assert totals[:2] == ["4 statements", "4 examples"]
    assert re.fullmatch(f"4 for CPU: all ran as printed; last on {when}", totals[2]), totals
    assert totals[3:] == ["3 for CUDA: 3 not run yet"]


TORCH = environment.torch_version()
SAID = "right basics-01.1 : A sum adds all elements."
RAN = r"CPU: torch \S+, .*, \d{4}-\d\d-\d\d Run it: claimbook run"


def test_a_card_says_more_on_demand(built):
    """What the sources say in their words, where the claim ran, and how to run it."""
    page = html(built, "a/sums")
    more = re.findall(r'<details class="claim-more">(.*?)</details>', page, re.DOTALL)
    texts = [" ".join(re.sub("<[^>]+>", " ", part).split()) for part in more]
    expected = [
        f"Sources: 1 right · How it ran {SAID} {RAN} sum-adds",
        f"How it ran {RAN} prod-multiplies",
        f"How it ran {RAN} script-is-text",
    ]
    assert len(texts) == len(expected)
    assert all(map(re.fullmatch, expected, texts)), texts
    assert "People made it." in html(built, "a/shapes")
    assert "github.com" not in page


def test_a_changed_entry_changes_its_cards(tmp_path):
    """A card and a remark repeat what a source says: they are written anew with the register."""
    book = TinyBook(tmp_path)
    assert book.sphinx("-D", "claimbook_repository=someone/book").returncode == 0
    assert "https://github.com/someone/book/issues/new?title=sum-adds" in html(book, "a/sums")
    book.replace("docs/register/basics.yaml", "A sum adds", "A sum gathers")
    book.replace("docs/register/basics.yaml", "People made it", "Somebody made it")
    assert book.sphinx("-D", "claimbook_repository=someone/book").returncode == 0
    assert "A sum gathers" in html(book, "a/sums")
    assert "Somebody made it" in html(book, "a/shapes")


def test_role_resolves(built):
    """`{claim}` links to the claim by its first sentence, or by a title."""
    page = built.page("c")
    links = page.select('div.body a[href="a/sums.html#claim-sum-adds"]')
    assert [link.text for link in links] == ["It says so", "the sum"]
    assert 'id="claim-sum-adds"' in html(built, "a/sums")


def test_claim_index(built):
    """The index lists the statements of each page in the order of the book."""
    links = [link["href"] for link in built.page("f").select("ul.claim-index a")]
    assert links == [
        *(f"a/sums.html#claim-{n}" for n in ("sum-adds", "prod-multiplies", "script-is-text")),
        "a/shapes.html#claim-ones-have-a-shape",
    ]


def test_inventory_holds_the_claims(built):
    """Other books can refer to claims through intersphinx."""
    inventory = InventoryFile.loads((built.site / "objects.inv").read_bytes(), uri="")
    assert {name: item.uri for name, item in inventory.data["claim:claim"].items()} == {
        "sum-adds": "a/sums.html#claim-sum-adds",
        "prod-multiplies": "a/sums.html#claim-prod-multiplies",
        "script-is-text": "a/sums.html#claim-script-is-text",
        "ones-have-a-shape": "a/shapes.html#claim-ones-have-a-shape",
    }


LINKS = """\
{external+tiny:std:ref}`the sum <claim-sum-adds>`
[](inv:tiny:claim:claim#sum-adds)
<inv:tiny#sum-adds>
"""


@pytest.mark.parametrize(
    ("extension", "links"),
    [("myst_parser", LINKS), ("claimbook.sphinx", "{external+tiny:claim:claim}`sum-adds`\n")],
)
def test_other_projects_link_claims(built, tmp_path, extension, links):
    """Sphinx's own references lead from another project's page to a claim, by the inventory."""
    inventory = str(built.site / "objects.inv")
    conf = f"extensions = {sorted({'myst_parser', extension, 'sphinx.ext.intersphinx'})}\n"
    conf += f"intersphinx_mapping = {{'tiny': ('https://tiny.example/', {inventory!r})}}\n"
    other = TinyBook(tmp_path, pages={"index": f"# Other\n\n{links}"}, conf=conf)
    done = other.sphinx()
    assert (done.returncode, done.stderr) == (0, "")
    found = re.findall(r'href="(https://tiny.example/[^"]*)"', html(other, "index"))
    assert found == ["https://tiny.example/a/sums.html#claim-sum-adds"] * len(links.splitlines())


def comparable(site):
    """Every file of a site, without what a clock or the folder decides."""
    found = {}
    for path in sorted(site.rglob("*")):
        if path.is_file() and ".doctrees" not in path.parts:
            data = path.read_bytes()
            data = re.sub(rb'"seconds": [\d.e-]+', b"", data)
            found[path.relative_to(site).as_posix()] = data
    return found


def test_a_log_names_few_of_many_claims(tmp_path):
    """A line for each would hide what else a log says."""
    many = "\n".join(claim_text(f"claim-{n}", ">>> 1\n1", ":lanes: cpu\n") for n in range(60))
    done = TinyBook(tmp_path, {"index": f"# I\n\n{many}"}).sphinx()
    assert re.findall(r"running claims on cpu\.\.\. (.*)", done.stdout) == ["50 of 60"]
    assert "claims on cpu: 60 run" in done.stdout


def test_a_lane_without_its_device_runs_nothing():
    """Where torch was built with CUDA and finds no GPU, each claim is skipped, and none is told."""

    class NoDevice:
        def run(self, claims, lane):
            for each in claims:
                yield each, Run(each.id, lane, Outcome.SKIPPED, message="no GPU")

    assert not [*_with_progress(NoDevice(), [claim("a", ">>> 1\n1")], Lane.CUDA)]


def test_parallel_build_is_the_same(built, tmp_path):
    """Four processes write what one writes, byte for byte."""
    book = TinyBook(tmp_path)
    done = book.sphinx("-j", "4")
    assert (done.returncode, done.stderr) == (0, "")
    assert comparable(book.site) == comparable(built.site)


def test_data_that_cannot_be_written_fails_the_build(tmp_path):
    """Also where another process writes it."""
    book = TinyBook(tmp_path)
    (book.site / "claims.json").mkdir(parents=True)
    done = book.sphinx("-j", "2")
    assert done.returncode != 0
    assert "claims.json" in done.stderr


def test_what_a_build_cannot_go_on_with_is_told_in_a_line(tmp_path):
    """Not by Sphinx, as a fault of its own."""
    book = TinyBook(tmp_path)
    (book.docs / "d.md").write_bytes(b"# D\n\n\xe4\n")
    done = book.sphinx()
    said = f"ERROR: {book.docs}/d.md:3: it is not UTF-8: save it with this encoding\n"
    assert (done.returncode, done.stderr) == (2, said)
    (book.docs / "d.md").rename(book.docs / "\udce9.md")
    done = book.sphinx()
    said = f"ERROR: {book.docs}/\\udce9.md:1: its name is not UTF-8: rename it\n"
    assert (done.returncode, done.stderr) == (2, said)
    (book.root / "pyproject.toml").write_bytes(b"\xe4")
    done = book.sphinx()
    said = f"ERROR: {book.root}/pyproject.toml:1: it is not UTF-8: save it with this encoding\n"
    assert (done.returncode, done.stderr) == (2, said)


def written(book, build):
    """The pages of a book that a build writes, and what it says of the claims' runs."""
    times = {path: path.stat().st_mtime_ns for path in book.site.rglob("*.html")}
    done = build()
    assert (done.returncode, done.stderr) == (0, "")
    pages = {
        path.relative_to(book.site).with_suffix("").as_posix()
        for path in book.site.rglob("*.html")
        if times.get(path) != path.stat().st_mtime_ns
    }
    [told] = re.findall("(?m)^pages written: (.+)$", done.stdout)
    named = {name.removesuffix(".html") for name in told.split(", ")} - {"none"}
    assert named == ({f"all {len(pages)}"} if told.startswith("all ") else pages)
    said = [line for line in done.stdout.splitlines() if line.startswith("claims on ")]
    return pages - {"genindex", "search"}, said


def test_rebuilds(tmp_path):
    """A build writes what changed: nothing, an edited claim and what shows it, all for new code."""
    book = TinyBook(tmp_path)
    built = book.sphinx()
    assert built.returncode == 0
    assert f"pages written: all {len([*book.site.rglob('*.html')])}\n" in built.stdout
    assert written(book, book.sphinx) == (set(), [])
    book.replace("docs/a/sums.md", ">>> torch.ones(2).prod()", ">>> torch.ones(3).prod()")
    assert written(book, book.sphinx) == (
        {"a/sums", "index"},
        [
            "claims on cpu: 1 run, 3 from records, 0 never run",
            "claims on cuda: 0 run, 0 from records, 3 never run",
        ],
    )
    book.replace("docs/a/sums.md", ":confirms: basics-01.1\n", "")
    assert written(book, book.sphinx) == (
        {"a/sums", "ledger", "index"},
        [
            "claims on cpu: 0 run, 4 from records, 0 never run",
            "claims on cuda: 0 run, 0 from records, 3 never run",
        ],
    )
    other_code = "import claimbook.sphinx, pathlib\nclaimbook.sphinx.CODE = pathlib.Path()\n"
    book.write("docs/conf.py", CONF + other_code)
    built = book.sphinx()
    assert f"pages written: all {len([*book.site.rglob('*.html')])}\n" in built.stdout
    assert "claims on cpu: 0 run, 4 from records, 0 never run\n" in built.stdout


def test_a_page_may_show_several_views(tmp_path):
    """It is written anew when any of them shows something else."""
    book = TinyBook(tmp_path)
    book.write("docs/f.md", "# F\n\n```{claim-index}\n```\n\n```{errors}\n```\n")
    assert book.sphinx().returncode == 0
    book.replace("docs/a/sums.md", "prod-multiplies", "product-multiplies")
    assert "f" in written(book, book.sphinx)[0]
    assert "product-multiplies" in html(book, "f")


def test_a_route_says_how_long_its_pages_take(tmp_path):
    """A page that leads to others is written anew when their titles or minutes change."""
    book = TinyBook(tmp_path)
    book.write("docs/d.md", "# D\n\n```{route}\na/sums\ne\n```\n")
    assert book.sphinx().returncode == 0

    def stops():
        page = book.page("d")
        return [item.get_text(" ", strip=True) for item in page.select("[role=main] ol li")]

    assert stops() == ["Sums 1 min", "E 1 min"]
    book.write("docs/e.md", "# E\n\nOther prose.\n")
    assert "d" not in written(book, book.sphinx)[0]
    book.write("docs/e.md", "# Even\n\n" + "word " * 600)
    assert "d" in written(book, book.sphinx)[0]
    assert stops() == ["Sums 1 min", "Even 3 min"]


def replayed(book, date):
    """Writes a record for CUDA, as a machine with a GPU would have on that date."""
    loaded = Book.load(book.root)
    (claim,) = loaded.select(["sum-adds"])
    with Runner(jobs=1) as runner:
        ((_, run),) = runner.run([claim], Lane.CPU)
    made_in, made = environment.describe(Lane.CPU), Provenance(date, None, None)
    record = record_of(claim, replace(run, lane=Lane.CUDA), made_in, made)
    Records.of(loaded.project.docs, Lane.CUDA, pytest.fail).save(claim, record)


def test_demanded_records(tmp_path):
    """With --strict-cuda a claim without a current record fails the build, or with an old one."""
    book = TinyBook(tmp_path)
    replayed(book, "2020-01-01")
    strict = ("-D", "claimbook_strict_cuda=1")
    missing = [
        f"docs/a/sums.md:{line}: WARNING: {name}: its record on cuda is missing [claim.cuda-record]"
        for line, name in ((14, "prod-multiplies"), (24, "script-is-text"))
    ]
    assert warned(book.sphinx(*strict)) == missing
    old, *rest = warned(book.sphinx(*strict, "-D", "claimbook_max_age=30"))
    assert rest == missing
    assert re.fullmatch(r"docs/a/sums.md:3: .* is \d{4} days old \[claim.cuda-record\]", old)


def test_demanded_answers(tmp_path):
    """Where the whole register must be answered, each open entry is named and fails the build."""
    book = TinyBook(tmp_path)
    done = book.sphinx("-D", "claimbook_whole_register=1")
    assert warned(done) == [
        (
            "docs/register/basics.yaml:6: WARNING: basics-01.3: nothing answers 'A sum is fast.': "
            "write a claim with `:confirms: basics-01.3` (or qualifies, corrects, updates) "
            "[claim.open-entry]"
        )
    ]
    assert done.returncode != 0


def test_broken_files_are_named_once(tmp_path):
    """Also where several processes write pages and data."""
    book = TinyBook(tmp_path)
    files = ["falsified/a.jsonl", *(f"{kind}/1.0.0.json" for kind in ("machines", "releases"))]
    for file in files:
        book.write(f"docs/records/{file}", "{x")
    said = "\n".join(warned(book.sphinx("-j", "2")))
    assert [said.count(file) for file in files] == [1] * len(files), said


def test_an_explorer_says_how_it_was_compared(tmp_path):
    """Its page loads what it needs; one that does not exist is named."""
    explorer = "```{explorer} strides\n:start: shape=2,3\n```\n"
    book = TinyBook(tmp_path, {**PAGES, "d": f"# D\n\n{explorer}", "e": "# E\n"})
    book.write("docs/records/explorers.json", '{"strides": {"said": "All cases < 9 agreed."}}')
    assert warned(book.sphinx()) == []
    shown = book.page("d").select_one(".explorer")
    assert (shown["data-start"], shown.text.strip()) == ("shape=2,3", "All cases < 9 agreed.")
    loaded = [script["src"].partition("?")[0] for script in book.page("d").select("script[src]")]
    scripts = ("rule", "explorer", "strides-rule", "strides")
    assert [f"_static/explorers/{name}.js" for name in scripts] == loaded[-4:]
    assert "explorers/" not in html(book, "e")
    book.replace("docs/d.md", "strides", "strolls")
    (line,) = warned(book.sphinx())
    assert "docs/d.md:3: ERROR: there is no explorer `strolls`" in line


@pytest.mark.parametrize("kept", ["5", '{"strides": 3}', '{"strides": {"cases": 1}}'])
def test_a_broken_record_of_explorers_is_named(tmp_path, kept):
    """At the explorer; all else is built."""
    book = TinyBook(tmp_path, {**PAGES, "d": "# D\n\n```{explorer} strides\n```\n"})
    book.write("docs/records/explorers.json", kept)
    (line,) = warned(book.sphinx())
    assert re.search(r"docs/d\.md:3: ERROR: .*explorers\.json.* no record of explorers", line)
    assert (book.site / "c.html").exists()


def test_links_follow_a_claim_that_is_renamed(tmp_path):
    """A page that still links to the old name is named by the next build, which did not read it."""
    book = TinyBook(tmp_path)
    assert book.sphinx().returncode == 0
    book.replace("docs/a/sums.md", "{claim} sum-adds", "{claim} sums-add")
    said = warned(book.sphinx())
    assert len(said) == 2
    assert all(re.search(r"docs/c\.md:3: WARNING: .*sum-adds", line) for line in said), said


def test_a_syntax_error_stops_nothing(tmp_path):
    """It is named by file and line; the page of the claim has no notebook until it is mended."""
    pages = {"index": "# I\n\n" + claim_text("half", ">>> 1 +\n2"), "b": f"# B\n\n{SUM}"}
    book = TinyBook(tmp_path, pages)
    done = book.sphinx()
    assert any("half: this is no Python statement" in line for line in warned(done)), done.stderr
    assert "sum-adds" in html(book, "b")
    book.replace("docs/index.md", ">>> 1 +", ">>> 1 + 1")
    assert "half: this is no Python" not in book.sphinx().stderr


def test_names_of_torch_lead_to_claims_where_they_stand(tmp_path):
    """Those whose statement has the name are linked, also after one went to another page."""
    said = "It says so.", "It says `ones`."
    pages = {name: text.replace(*said) for name, text in PAGES.items()}
    pages |= {"e": "# E\n\n```{apis}\n```\n"}
    known = b"torch.ones py:function 1 ones.html -\n"
    conf = CONF.replace('"myst_parser"', '"myst_parser", "sphinx.ext.intersphinx"')
    conf += "intersphinx_mapping = {'torch': ('https://torch.example/', 'torch.inv')}\n"
    book = TinyBook(tmp_path, pages, conf=conf)
    head = b"# Sphinx inventory version 2\n# Project: torch\n# Version: 2\n# zlib\n"
    (book.docs / "torch.inv").write_bytes(head + zlib.compress(known))

    def links():
        assert book.sphinx().returncode == 0
        page = book.page("e")
        return [link["href"] for link in page.select("[id='api-torch.ones'] ul a")]

    before = ["a/shapes.html#claim-ones-have-a-shape", "a/sums.html#claim-sum-adds"]
    assert links() == [*before, "a/sums.html#claim-prod-multiplies"]
    book.replace("docs/a/sums.md", PRODUCT.replace(*said), "")
    book.write("docs/d.md", f"# D\n\n{PRODUCT.replace(*said)}")
    assert links() == [*before, "d.html#claim-prod-multiplies"]


BAD_PAGES = {
    "options": claim_text("bad-option", ">>> 1\n1", ":lane: cpu\n"),
    "double": SUM.replace(":confirms: basics-01.1\n", ""),
    "entry": claim_text("bad-entry", ">>> 1\n1", ":confirms: basics-99.1\n"),
    "conflict": claim_text("bad-conflict", ">>> 1\n1", ":confirms: basics-01.2\n"),
    "fence": claim_text("bad-fence", "1 + 1"),
    "nameless": ":::{claim}\n\nIt says so.\n:::\n",
    "nothing": ":::{claim} bad-nothing\n:::\n",
    "unowned": "```python\nx = 1\n```\n",
    "remark": ":::{remark} basics-01.1\nNobody knows.\n:::\n",
}
BAD_MESSAGES = [
    (
        "docs/conflict.md:3: bad-conflict: confirms basics-01.2, which ones-have-a-shape "
        "(docs/a/shapes.md:3) corrects; one entry has one relation [claim.conflicting-relations]"
    ),
    (
        "docs/double.md:3: sum-adds: this id is taken by the claim at docs/a/sums.md:3 "
        "[claim.double-id]"
    ),
    (
        "docs/entry.md:3: bad-entry: the register has no entry 'basics-99.1'; did you mean "
        "basics-02.1 or basics-01.1 or basics-01.3? [claim.unknown-entry]"
    ),
    "docs/fence.md:7: bad-fence: a `pycon` fence without any `>>>` [claim.bad-fence]",
    "docs/fence.md:8: bad-fence: text before the first `>>>` [claim.bad-fence]",
    "docs/nameless.md:3: claim: its id goes after `{claim}` [claim.malformed-claim]",
    (
        "docs/nothing.md:3: bad-nothing: it has no `pycon` fence that shows its "
        "statement [claim.bad-fence]"
    ),
    (
        "docs/nothing.md:3: bad-nothing: a claim begins with its statement, in prose "
        "[claim.malformed-claim]"
    ),
    (
        "docs/options.md:4: bad-option: there is no option 'lane'; did you mean lanes? "
        "[claim.bad-option]"
    ),
    (
        "docs/remark.md:3: remark: basics-01.1 is decided by sum-adds (docs/a/sums.md:3), confirms "
        "[claim.conflicting-relations]"
    ),
    (
        "docs/unowned.md:3: a plain `python` fence is never run: write it as a claim, "
        "`:::{claim} an-id`, or as a code cell that draws [claim.unowned-code]"
    ),
]


BROKEN_RECORD = "docs/_build/records/cpu/a/shapes.jsonl"


@pytest.fixture(scope="module")
def bad(tmp_path_factory):
    """A book with a page for each mistake that an author can make."""
    pages = {name: f"# {name}\n\n{text}" for name, text in BAD_PAGES.items()}
    pages["lanes"] = f"# L\n\n{claim_text('only-cuda', '>>> 1', ':lanes: cuda' + chr(10))}"
    pages["lanes"] += "\n{claim}`no-such-claim`\n"
    index = PAGES["index"].replace("ledger\n", "ledger\n" + "\n".join(pages) + "\n")
    book = TinyBook(tmp_path_factory.mktemp("bad"), {**PAGES, **pages, "index": index})
    run_by(book.docs / "_build/records/cpu").renew()
    book.write(BROKEN_RECORD, "{}")
    return book


@pytest.fixture(scope="module")
def bad_build(bad):
    """What its build warns of, a line each."""
    done = bad.sphinx()
    assert done.returncode == 1
    return warned(done)


def test_problems_are_warnings(bad_build):
    """The build names every mistake by file and line, with a subtype, and fails."""
    found = [line.replace("WARNING: ", "") for line in bad_build if line.startswith("docs/")]
    assert found == BAD_MESSAGES
    assert not [line for line in bad_build if "[docutils]" in line]  # who would say it again


def test_problems_are_the_same_in_pytest_and_cli(bad):
    """Sphinx, pytest and the command say the same of a mistake."""
    # On CI pytest's summary would repeat the messages in full.
    by_pytest = bad.pytest("-k", "problems", "-rN").stdout.splitlines()
    assert [line for line in by_pytest if "[claim." in line] == BAD_MESSAGES
    by_cli = bad.claimbook("run", "docs")
    assert by_cli.returncode == 1
    assert by_cli.stderr.splitlines()[: len(BAD_MESSAGES)] == BAD_MESSAGES


def test_a_broken_record_is_a_warning(bad_build, bad):
    """A line that is no record is named, once, and its claim runs again."""
    path = bad.root / BROKEN_RECORD
    (found,) = [line for line in bad_build if "[claim.broken-record]" in line]
    said = "not a record: it is not an object of schema 1; it counts as missing"
    assert found.startswith(f"{path}:1: WARNING: {said}")
    _, line = path.read_text("utf-8").rstrip("\n").split("\n")
    assert json.loads(line)["outcome"] == "passed"


def test_records_that_other_code_has_made_count_for_nothing(tmp_path):
    """With the code that runs claims, compares outputs or measures, the outcome may change."""
    book = TinyBook(tmp_path, {"index": f"# I\n\n{SUM}"})
    assert "claims on cpu: 1 run" in book.sphinx().stdout
    assert "no claim is run" in book.sphinx().stdout
    book.write("docs/_build/records/cpu/.run-by", "other code")
    assert "claims on cpu: 1 run" in book.sphinx().stdout


@pytest.mark.parametrize(
    ("page", "conf", "said"),
    [
        (SUM, "myst_enable_extensions = []", "index.md:3: WARNING: sum-adds is not shown as a"),
        (
            "```{eval-rst}\n.. claim:: in-another-markup\n\n   It says so.\n```\n",
            "",
            "index.md:4: ERROR: a claim must be a fence of its own; this one would never run",
        ),
    ],
)
def test_what_the_scan_and_sphinx_read_otherwise_is_told(tmp_path, page, conf, said):
    """A claim that is run and not shown, or that neither runs nor is shown."""
    done = TinyBook(tmp_path, {"index": f"# I\n\n{page}"}, conf=CONF + conf).build()
    assert done.returncode == 1
    assert said in done.stderr


def test_a_claim_on_a_page_that_is_no_markdown_is_an_error(tmp_path):
    """Nothing would run it, and the page would not show it."""
    book = TinyBook(tmp_path, {"index": "# I\n\n```{toctree}\nr\n```\n"})
    book.write("docs/r.rst", "R\n=\n\n.. claim:: in-r\n\n   It says so.\n")
    done = book.sphinx()
    assert done.returncode == 1
    assert (
        "r.rst:4: ERROR: a claim must be on a Markdown page; this one would never run"
        in done.stderr
    )


def test_a_dangling_reference_is_a_warning(bad_build, bad):
    """A role that names no claim is reported."""
    page = bad.docs / "lanes.md"
    line = page.read_text("utf-8").splitlines().index("{claim}`no-such-claim`") + 1
    said = "no claim has the id 'no-such-claim'; was it renamed? [ref.claim]"
    assert f"{page}:{line}: WARNING: {said}" in bad_build


def test_a_page_whose_claims_did_not_run_is_a_warning(bad_build, bad):
    """A page that states claims of which none ran fails the build."""
    said = "none of this page's claims ran on any lane [claim.nothing-ran]"
    assert f"{bad.docs}/lanes.md: WARNING: {said}" in bad_build


def test_the_card_shows_what_the_scan_read(built):
    """Each claim of a page has its card, code and output on the built page."""
    page = html(built, "a/shapes")
    assert SHAPE.count(">>>") == len(re.findall(r'class="claim-code', page)) == 1
    assert "torch.Size([2, 3])" in re.sub(r"<[^>]+>", "", page)
