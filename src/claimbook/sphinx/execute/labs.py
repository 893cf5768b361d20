"""Hooks for sphinx-gallery: reset the state before each lab, and save its figures."""

import faulthandler
import io
import os
import re
import signal
import sys
import traceback
from dataclasses import astuple
from logging import LogRecord
from pathlib import Path, PurePosixPath
from textwrap import dedent
from typing import Any

from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.errors import ExtensionError
from sphinx.util import logging
from sphinx_gallery import gen_gallery
from sphinx_gallery.utils import get_md5sum

import claimbook
from claimbook.engine import environment
from claimbook.engine.fork_server import SETTINGS
from claimbook.files import Stamp, read_text
from claimbook.model import Lane, digest
from claimbook.pages.book import BookError, Project
from claimbook.sphinx.complaints import ends_on_error, warn

logger = logging.getLogger(__name__)

PROCESSES = 2
"""Number of labs that run in parallel."""

TRIES = 3
"""Most attempts for a lab that observes its machine."""

SECONDS = 300
"""Time limit of a lab, in seconds."""

INKS = {"light": "#1b1f24", "dark": "#e3e7ec"}
"""The colour of text and axes in light and in dark mode."""


def connect(app: Sphinx) -> None:
    """Set up the environment of labs and cells.

    They lose the same variables as claims, and torch's warning about few cores.
    """
    for name in filter(SETTINGS.match, [*os.environ]):
        del os.environ[name]
    os.environ.update(MPLBACKEND="agg", PYTHONWARNINGS="ignore:This DataLoader will create")
    app.connect("config-inited", ends_on_error(_connect_gallery))
    app.connect("build-finished", _end_processes)


def _connect_gallery(app: Sphinx, config: Config) -> None:
    if "sphinx_gallery_conf" in config:
        if not isinstance(config.sphinx_gallery_conf["examples_dirs"], str):
            raise BookError("conf.py: `examples_dirs` lists folders; a book has one for all labs")
        _Gallery(app)


def drawn_with() -> str:
    """Return a digest of the environment and of the helpers that draw."""
    helpers = sorted(Path(claimbook.__file__).with_name("teach").glob("[!.]*.py"))
    made_in = astuple(environment.describe(Lane.CPU))
    return digest([made_in, environment.digest_of_code(helpers)])[:12]


class _Gallery:
    """The labs of one build, and the folder in which sphinx-gallery keeps their figures."""

    def __init__(self, app: Sphinx) -> None:
        self._conf: dict[str, Any] = app.config.sphinx_gallery_conf
        scripts = Path(app.srcdir, self._conf["examples_dirs"]).resolve()
        made = Path(app.srcdir, self._conf["gallery_dirs"])
        self._folder = Stamp(made / ".drawn-with", drawn_with())
        self._labs = dict[Path, Stamp]()
        for lab in scripts.rglob("plot_*.py"):
            read_text(lab)  # sphinx-gallery would not say which one it cannot read
            drawn = get_md5sum(str(lab), mode="t")
            self._labs[lab] = Stamp(made / f"{lab.relative_to(scripts)}.md5", drawn)
        app.connect("builder-inited", ends_on_error(self._prepare), priority=400)
        for listener in [*app.events.listeners["builder-inited"]]:
            if listener.handler is gen_gallery.generate_gallery_rst:
                app.disconnect(listener.id)
        app.connect("builder-inited", ends_on_error(self._draw))
        app.connect("builder-inited", ends_on_error(self._try_again), priority=600)

    def _prepare(self, app: Sphinx) -> None:
        """Remove outdated figures, and what was made of deleted labs."""
        self._folder.renew()
        drawn = {stamp.path for stamp in self._labs.values()}
        for made in self._folder.path.parent.rglob("plot_*"):
            if made.with_name(f"{made.name.partition('.')[0]}.py.md5") not in drawn:
                made.unlink()
        due = self._due()
        logger.info("labs: %d to draw, %d as they were", len(due), len(self._labs) - len(due))
        # One lab too has a process of its own: by exiting it would end the build, with success.
        self._conf["parallel"] = PROCESSES if due else False

    def _due(self) -> list[Path]:
        return sorted(lab for lab, drawn in self._labs.items() if not drawn.is_current())

    def _draw(self, app: Sphinx) -> None:
        """Let sphinx-gallery draw the labs; one that ends its process ends the build.

        Raises:
            BookError: a lab has ended its process; the message says which.
        """
        try:
            gen_gallery.generate_gallery_rst(app)
        except SystemExit as error:  # as `sys.exit` in a lab
            told = "".join(traceback.format_exception(error))
            places = [f"{_name(lab)}:{_line(lab, told)}" for lab in self._due() if str(lab) in told]
            if not places:  # the build itself was ended
                raise
            raise BookError(f"{' or '.join(places)}: a lab must not exit") from error
        except ExtensionError as error:  # such as a lab without a title
            said = re.sub(r'[^/"\s]+/\.\./', "", str(error))  # from `docs/../gallery`
            raise BookError(" ".join(said.split())) from error
        except RuntimeError as error:  # of joblib
            _, told, codes = str(error).partition("exit codes of the workers are ")
            if not told:
                raise
            names = " or ".join(map(_name, self._due()))
            how = codes.partition("\n")[0]
            advice = "a crash is told above; Linux ends what takes too much memory by SIGKILL"
            raise BookError(f"{names}: a lab has ended its process, {how}; {advice}") from error

    def _try_again(self, app: Sphinx) -> None:
        """Retry failed labs that observe their machine, one at a time; report those that fail.

        They run in this process. Under `-O` it leaves out their assertions, so none is retried.
        """
        failing = self._conf["failing_examples"]
        for again in range(2, TRIES + 1) if __debug__ else ():
            if any("observe(" in Path(lab).read_text("utf-8") for lab in failing):
                logger.info("labs: tried again: %s", ", ".join(Path(lab).name for lab in failing))
                failing.clear()
                self._conf["parallel"] = False
                from claimbook.teach import observation  # takes as long as a build without changes

                # They print what they expected but did not observe.
                observation.told = again == TRIES and not app.config.claimbook_strict
                gen_gallery.generate_gallery_rst(app)
        for lab, told in failing.items():
            _tell_failed(Path(lab), told)
        failing.clear()  # or sphinx-gallery would report them again and fail


def _tell_failed(lab: Path, told: str) -> None:
    """Warn of a failed lab, at the line in the lab; the next build runs it again."""
    first, _, _ = told.partition(f'File "{lab}"')
    own = told.removeprefix(first).strip()
    error = told.strip().rpartition("\n")[2]
    warn(f"{_name(lab)}:{_line(lab, told)}", f"the lab failed: {error}\n{own}", "failed-lab")


def _name(lab: Path) -> str:
    return Project.find(lab).name(lab)


def _line(lab: Path, told: str) -> str:
    """Return the first line of a lab that a traceback names, or its first."""
    found = re.search(rf'File "{re.escape(str(lab))}", line (\d+)', told)
    return found[1] if found else "1"


def _end_processes(app: Sphinx, exception: Exception | None) -> None:
    """Shut down the processes of labs, which otherwise print warnings on exit."""
    if "joblib.externals.loky" in sys.modules:
        from joblib.externals.loky import get_reusable_executor

        get_reusable_executor().shutdown(wait=True)


def reset(gallery_conf: dict[str, Any], filename: str, when: str) -> None:
    """Before a lab, set the book's style, seed 0, one thread, and an alarm for its time limit.

    A crash of it is told with its line.
    """
    signal.alarm(0)
    if when == "after":
        return
    faulthandler.enable(2)  # stderr, which sphinx-gallery replaces
    logging.getLogger("sphinx-gallery").logger.addFilter(_is_of_no_failed_lab)
    import matplotlib as mpl
    import matplotlib.pyplot as plt
    import torch

    from claimbook.teach.chart import SETTINGS, STYLES

    plt.close("all")
    mpl.rcdefaults()
    mpl.rcParams.update(SETTINGS)
    mpl.rcParams["axes.prop_cycle"] = mpl.rcsetup.cycler("color", [style[0] for style in STYLES])
    torch.set_default_dtype(torch.float32)
    torch.manual_seed(0)
    torch.set_num_threads(1)
    signal.signal(signal.SIGALRM, _end)
    signal.alarm(SECONDS)


def _is_of_no_failed_lab(record: LogRecord) -> bool:
    """Return whether a warning is not of a failed lab, of which `_tell_failed` warns."""
    return getattr(record, "subtype", "") != "example_error"


def _end(*_: object) -> None:
    raise TimeoutError(f"a lab was stopped after {SECONDS} seconds")


def scrape(block: Any, block_vars: dict[str, Any], gallery_conf: dict[str, Any]) -> str:
    """Return the reST of the figures that a block of a lab drew, light and dark, wide and narrow.

    The alt text is the figure's title, followed by its label, set by `fig.set_label(…)`.
    """
    import matplotlib.pyplot as plt

    figures = [plt.figure(number) for number in plt.get_fignums()]
    paths = block_vars["image_path_iterator"]
    texts = [_save(figure, next(paths), gallery_conf["src_dir"]) for figure in figures]
    plt.close("all")
    return "".join(texts)


def _save(figure: Any, path: str, source: str) -> str:
    from claimbook.teach import phone

    title = _take_title(figure)
    alt = " ".join(f"{title}. {figure.get_label()}".split())
    wide = _save_as(Path(path).with_suffix(".svg"), figure, source, alt, "")
    phone.lay_out(figure)
    return wide + _save_as(Path(path).with_suffix(".svg"), figure, source, alt, "phone")


def _save_as(path: Path, figure: Any, source: str, alt: str, form: str) -> str:
    from claimbook.teach.chart import INK

    buffer = io.StringIO()
    figure.savefig(buffer, format="svg", transparent=True)
    width, height = (round(96 * inches) for inches in figure.get_size_inches())  # in CSS pixels
    text = ""
    for theme, ink in INKS.items():
        # The wide light one must keep the name for the thumbnail.
        parts = [path.stem, form, "dark" if theme == "dark" else ""]
        file = path.with_stem("_".join(filter(None, parts)))
        file.write_text(buffer.getvalue().replace(INK, ink), "utf-8")
        place = PurePosixPath(os.path.relpath(file, source))
        text += dedent(f"""
            .. image:: /{place}
               :alt: {alt}
               :class: lab-figure only-{theme} {f"on-{form}" if form else ""}
               :width: {width}
               :height: {height}
            """)
    return text


def _take_title(figure: Any) -> str:
    """Return a figure's title, and remove it: the page shows it as text, which wraps on a phone."""
    titled = [axes for axes in figure.axes if axes.get_title()]
    if title := figure.get_suptitle():
        figure.suptitle("").set_in_layout(False)
    elif titled:
        title = titled[0].get_title()
        if len(titled) == 1:  # others name parts of the figure
            titled[0].set_title("")
    return str(title)
