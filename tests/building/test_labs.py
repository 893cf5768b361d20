"""A small gallery, built as the real one is: which labs are drawn, and when."""

import re
import signal
import subprocess
import sys
from runpy import run_path

import pytest
from sphinx.util.console import strip_escape_sequences
from sphinx_gallery.sorting import ExplicitOrder

from claimbook.sphinx.execute import labs
from claimbook.sphinx.execute.labs import INKS, TRIES
from claimbook.teach.chart import SIZE
from helpers import CONF, ROOT, SUM, TinyBook

GALLERY = """
extensions += ["sphinx_gallery.gen_gallery"]
exclude_patterns += ["labs/*.ipynb", "labs/*.py"]
sphinx_gallery_conf = {
    "examples_dirs": "../gallery",
    "gallery_dirs": "labs",
    "show_signature": False,
    "write_computation_times": False,
    "image_scrapers": ("claimbook.sphinx.execute.labs.scrape",),
    "reset_modules": ("claimbook.sphinx.execute.labs.reset",),
    "reset_modules_order": "both",
}
"""
LAB = '''"""
{name}
======

It draws what :claim:`sum-adds` says.
"""

import matplotlib.pyplot as plt

fig, axes = plt.subplots()
axes.plot([0, {height}])
axes.set_title("{name}")
fig.set_label("A line that rises.")
assert {height} > 0
'''
SETTING = "TORCH_SHOW_CPP_STACKTRACES"
ASKS = f"\nimport os\nprint({SETTING!r} in os.environ)\n"
PAGES = {
    "index": "# Tiny\n\n```{toctree}\nsums\nlabs/index\n```\n",
    "sums": f"# Sums\n\n{SUM}",
}


TRIES_COUNTED = (
    LAB.replace(":claim:`sum-adds` says", "a clock says")
    + """
from pathlib import Path

from claimbook.teach import observe

tries = Path("{log}")
tries.write_text(tries.read_text() + "x")
observe(len(tries.read_text()) > {failing}, "a is slower")
"""
)


FAILING = {0: 1, 1: 2, TRIES - 1: TRIES, TRIES: TRIES}
"""How often a lab observes something else, and how often it is tried."""


@pytest.fixture(scope="module")
def first(tmp_path_factory):
    """A build of two labs, and of others that note their tries in a folder and are then deleted."""
    book = TinyBook(tmp_path_factory.mktemp("labs"), PAGES, conf=CONF + GALLERY)
    book.write("gallery/GALLERY_HEADER.rst", "Labs\n====\n")
    book.write("gallery/plot_one.py", LAB.format(name="one", height=1) + ASKS)
    more = "\n# %%\n# Then it ends.\n\nprint(2)\n"
    book.write("gallery/plot_two.py", LAB.format(name="two", height=1) + more)
    folder = tmp_path_factory.mktemp("tries")
    for failing in FAILING:
        (log := folder / str(failing)).write_text("", "utf-8")
        text = TRIES_COUNTED.format(name=f"timed{failing}", height=1, log=log, failing=failing)
        book.write(f"gallery/plot_timed{failing}.py", text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(SETTING, "1")
        done = book.sphinx()
    for lab in (book.root / "gallery").glob("plot_timed*"):
        lab.unlink()
        page = book.site / f"labs/{lab.stem}.html"
        page.rename(folder / page.name)
    return book, done, folder


@pytest.fixture
def book(first):
    """The book of two labs."""
    return first[0]


def drawn(book):
    """Builds the book, and gives what the build says of labs."""
    done = book.sphinx()
    assert (done.returncode, done.stderr) == (0, "")
    assert "no examples were executed" not in done.stdout
    return next(line for line in done.stdout.splitlines() if line.startswith("labs: "))


def test_each_lab_is_drawn_for_both_themes(book):
    """The two pictures differ in the ink alone, and say what is seen."""
    folder = book.docs / "labs/images"
    light = (folder / "sphx_glr_plot_one_001.svg").read_text("utf-8")
    dark = (folder / "sphx_glr_plot_one_001_dark.svg").read_text("utf-8")
    assert light != dark == light.replace(INKS["light"], INKS["dark"])
    images = book.page("labs/plot_one").select("img.lab-figure")
    assert [image["alt"] for image in images] == ["one"] * 4
    assert ">one<" not in light, "its title is text"


def test_a_figure_comes_before_its_code(book):
    """Its title stands above it, the rest of its words below it, and the code is folded."""
    for name in "one", "two":
        page = book.page(f"labs/plot_{name}")
        assert page.select_one("p:has(+ .lab-picture)").text == name
        assert [image["alt"] for image in page.select(".lab-picture img")] == [name] * 4
        caption = page.select_one(".lab-picture + .lab-caption")
        assert caption.text == "A line that rises."
    fold = caption.find_next_sibling()
    assert (fold["class"], fold.summary.text) == (["lab-code"], "How it is made")
    assert "plt.subplots()" in fold.pre.text


def test_a_figure_has_its_room_before_it_is_loaded(book):
    """The page gives its size in pixels, of which there are 96 to an inch, and 72 points."""
    for image in book.page("labs/plot_one").select("img.lab-figure"):
        text = (book.docs / "labs/images" / image["src"].rpartition("/")[2]).read_text("utf-8")
        size = re.search(r'<svg [^>]*width="([\d.]+)pt" height="([\d.]+)pt"', text)
        shown = [int(image[name]) for name in ("width", "height")]
        assert shown == [round(float(points) * 96 / 72) for points in size.groups()]


def test_a_phone_has_a_picture_of_its_own(book):
    """It is narrower than the other one, and neither is loaded before it is seen."""
    images = book.page("labs/plot_one").select("img.lab-figure")
    wide, narrow = ([i for i in images if ("on-phone" in i["class"]) == phone] for phone in (0, 1))
    assert {int(image["width"]) for image in narrow} == {round(96 * SIZE[0])}
    assert min(int(image["width"]) for image in wide) > 96 * SIZE[0]
    assert {image["loading"] for image in images} == {"lazy"}


def test_labs_know_nothing_of_the_callers_settings(book):
    """What someone has set for torch elsewhere does not reach them."""
    (printed,) = book.page("labs/plot_one").select(".sphx-glr-script-out pre")
    assert printed.text.strip() == "False"


def test_claims_and_labs_link_each_other(book):
    """A lab names claims, and each of these names the lab in return."""
    lab = book.page("labs/plot_one")
    assert lab.select_one("a[href='../sums.html#claim-sum-adds']")
    page = book.page("sums")
    links = page.select(".claim .claim-labs a")
    assert [(link["href"], link.get_text()) for link in links] == [
        ("labs/plot_one.html", "one"),
        ("labs/plot_two.html", "two"),
    ]


def test_only_what_changed_is_drawn(book):
    """A lab is drawn again when its script changes, or that with which all are drawn."""
    assert drawn(book) == "labs: 0 to draw, 2 as they were"
    book.write("gallery/plot_two.py", LAB.format(name="two", height=2))
    assert drawn(book) == "labs: 1 to draw, 1 as they were"
    for path in (book.docs / "labs").glob("plot_one.*"):
        path.unlink()
    assert drawn(book) == "labs: 1 to draw, 1 as they were"
    assert (book.docs / "labs/plot_one.rst").exists()
    (book.docs / "labs/.drawn-with").write_text("another torch", "utf-8")
    assert drawn(book) == "labs: 2 to draw, 0 as they were"
    assert drawn(book) == "labs: 0 to draw, 2 as they were"


def test_a_build_without_a_change_imports_no_torch(book):
    """That would take longer than the build itself."""
    book.sphinx()
    command = [sys.executable, "-X", "importtime", "-m", "sphinx", "docs", book.site]
    done = subprocess.run(command, cwd=book.root, capture_output=True, text=True, check=True)
    assert "nothing has changed since the last build" in done.stdout
    imported = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "claimbook.sphinx.build" in imported
    assert "torch" not in imported


def test_a_new_part_stands_at_the_end():
    """Its first lab needs no line in the book's settings, for want of which Sphinx would break."""
    listed = run_path(str(ROOT / "docs/conf.py"))["sphinx_gallery_conf"]["subsection_order"]
    order = ExplicitOrder(listed)
    assert max(["../gallery/new", *listed[:-1]], key=order) == "../gallery/new"


def test_a_lab_that_fails_is_told_on_each_build(book):
    """It fails the build by name, and again where nothing changed since."""
    book.write("gallery/plot_wrong.py", LAB.format(name="wrong", height=0))
    for _ in range(2):
        done = book.sphinx()
        assert done.returncode == 1
        place, said, *_ = done.stderr.partition("WARNING: the lab failed: AssertionError\n")
        assert place == "gallery/plot_wrong.py:14: "
        assert said
        assert "assert 0 > 0" in done.stderr
        assert len(done.stderr.splitlines()) < 8
        mended = done.stdout.partition("To be fixed:\n")[2].splitlines()
        assert mended[0] == "gallery/plot_wrong.py:14: the lab failed: AssertionError"
        assert "] sums" not in done.stdout.partition("claims on cpu")[0]  # is not read anew
        assert "labs: 1 to draw, 2 as they were" in done.stdout
    (book.root / "gallery/plot_wrong.py").unlink()


def test_a_list_of_galleries_is_refused(tmp_path):
    """sphinx-gallery takes one, but the rest of a book reads a single gallery."""
    listed = GALLERY.replace('"../gallery"', '["../gallery"]')
    done = TinyBook(tmp_path, PAGES, conf=CONF + listed).sphinx()
    assert done.returncode == 2
    assert done.stderr.startswith("ERROR: conf.py: `examples_dirs` lists folders")


def test_a_lab_without_a_title_ends_the_build(book):
    """Its file is named in a line; sphinx-gallery alone would ask to report a crash."""
    book.write("gallery/plot_bare.py", "x = 1\n")
    done = book.sphinx()
    assert done.returncode == 2
    assert f'Could not find docstring in file "{book.root}/gallery/plot_bare.py"' in done.stderr
    assert "report this error" not in done.stderr
    (book.root / "gallery/plot_bare.py").unlink()


def test_a_lab_that_is_no_python(book):
    """Its line is named, and nothing but its line."""
    book.write("gallery/plot_wrong.py", LAB.format(name="wrong", height=1) + "x = = 1\n")
    done = book.sphinx()
    assert done.returncode == 1
    assert "gallery/plot_wrong.py:15: WARNING: the lab failed: SyntaxError: invalid" in done.stderr
    (book.root / "gallery/plot_wrong.py").unlink()


EXITED = "ends0.py:15: a lab must not exit\n"
CRASH = "import ctypes\nctypes.string_at(0)"
ENDED = "a lab has ended its process, {"


@pytest.mark.parametrize(
    ("ends", "labs_due", "said"),
    [
        ("raise SystemExit", 1, EXITED),
        ("import sys; sys.exit()", 1, EXITED),
        ("import sys; sys.exit()", 2, ".py:15: a lab must not exit\n"),
        ("quit()", 1, EXITED),
        ("import os; os._exit(0)", 1, f"ends0.py: {ENDED}EXIT(0)"),
        ("import os; os._exit(0)", 2, f"ends0.py or gallery/plot_ends1.py: {ENDED}EXIT(0)"),
        (CRASH, 2, f"ends0.py or gallery/plot_ends1.py: {ENDED}SIGSEGV(-11)"),
    ],
)
def test_a_lab_that_ends_its_process_ends_the_build(book, ends, labs_due, said):
    """It is named in a line, and the build does not seem to have succeeded."""
    for number in range(labs_due):
        text = LAB.format(name="ends", height=1) + f"{ends}\n"
        book.write(f"gallery/plot_ends{number}.py", text)
    done = book.sphinx()
    assert done.returncode == 2
    [error] = re.findall("(?m)^ERROR: .*\n", strip_escape_sequences(done.stderr))
    assert error.startswith("ERROR: gallery/plot_ends")
    assert said in error
    assert "report this error" not in done.stderr
    for number in range(labs_due):
        (book.root / f"gallery/plot_ends{number}.py").unlink()


def test_a_lab_that_does_not_end_is_ended(monkeypatch):
    """As an example would be; what is drawn after it has its own time, and the build has none."""
    monkeypatch.setattr(labs, "SECONDS", 1)
    labs.reset({}, "plot_slow.py", "before")
    with pytest.raises(TimeoutError, match="stopped after 1 seconds"):
        signal.pause()
    labs.reset({}, "plot_slow.py", "before")
    labs.reset({}, "plot_slow.py", "after")
    assert signal.alarm(0) == 0


@pytest.mark.parametrize(("failing", "tries"), FAILING.items())
def test_a_lab_that_observes_its_machine_is_tried_again(first, failing, tries):
    """What else the machine does disturbs it; what is never observed stands on its page."""
    _, done, folder = first
    assert done.returncode == 0
    assert "labs: 6 to draw, 0 as they were" in done.stdout
    assert len((folder / str(failing)).read_text("utf-8")) == tries
    told = [line for line in done.stdout.splitlines() if line.startswith("labs: tried again: ")]
    assert sum(f"plot_timed{failing}.py" in line for line in told) == tries - 1
    page = (folder / f"plot_timed{failing}.html").read_text("utf-8")
    assert "Traceback" not in page
    assert ("Not observed on this machine: a is slower." in page) == (failing == TRIES)


def test_a_strict_build_demands_what_labs_observe(book, tmp_path):
    """It fails with the words of the observation."""
    drawn(book)
    (log := tmp_path / "log").write_text("", "utf-8")
    text = TRIES_COUNTED.format(name="timed", height=1, log=log, failing=TRIES)
    book.write("gallery/plot_timed.py", text)
    done = book.sphinx("-D", "claimbook_strict=1")
    assert done.returncode
    assert "a is slower" in done.stderr
    assert len(log.read_text("utf-8")) == TRIES


def test_labs_assert_under_any_optimisation(tmp_path):
    """The process of the build, which Python may optimise, tries none again."""
    book = TinyBook(tmp_path, PAGES, conf=CONF + GALLERY)
    book.write("gallery/GALLERY_HEADER.rst", "Labs\n====\n")
    text = LAB.format(name="one", height=-1) + "from claimbook.teach import observe\n# observe(\n"
    book.write("gallery/plot_one.py", text)
    done = book.build(PYTHONOPTIMIZE="1")
    assert done.returncode
    assert "the lab failed: AssertionError" in done.stderr


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        ("gallery/plot_one.py", "gallery/plot_one.py:1: it is not UTF-8: save it"),
        ("docs/labs", "docs/labs/.drawn-with cannot be written: "),
    ],
)
def test_what_keeps_labs_from_being_drawn(tmp_path, broken, said):
    """It is told in a line; Sphinx alone would ask to report a crash."""
    book = TinyBook(tmp_path, PAGES, conf=CONF + GALLERY)
    book.write("gallery/GALLERY_HEADER.rst", "Labs\n====\n")
    book.write("gallery/plot_one.py", LAB.format(name="one", height=1))
    (book.root / broken).write_bytes(b"\xff")
    done = book.sphinx()
    assert done.returncode == 2
    assert f"{book.root}/{said}" in strip_escape_sequences(done.stderr)
    assert "Traceback" not in done.stderr
    assert "report this error" not in done.stderr
