"""What sphinx-gallery is told of labs: how to start each afresh, and how to take its pictures.

sphinx-gallery's own ways import Matplotlib in every build, also where no lab is run; that is a
fifth of the time of a build in which nothing changed.
"""

import io
import os
import sys
from pathlib import Path, PurePosixPath
from textwrap import dedent
from typing import Any

from sphinx.application import Sphinx
from sphinx_gallery import gen_gallery

INKS = {"light": "#1b1f24", "dark": "#e3e7ec"}
"""The colour of text and axes on a light page and on a dark one."""


def connect(app: Sphinx) -> None:
    """Leaves Matplotlib to the labs that draw with it, without a screen as sphinx-gallery would."""
    os.environ["MPLBACKEND"] = "agg"
    gen_gallery._import_matplotlib = lambda: None  # noqa: SLF001
    app.connect("build-finished", _end_processes)


def _end_processes(app: Sphinx, exception: Exception | None) -> None:
    """Ends the processes in which labs ran; left to themselves they complain as Python ends."""
    if "joblib.externals.loky" in sys.modules:
        from joblib.externals.loky import get_reusable_executor

        get_reusable_executor().shutdown(wait=True)


def reset(gallery_conf: dict[str, Any], filename: str) -> None:
    """Gives the next lab the book's colours, and torch as it starts: seed 0, but one thread."""
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


def scrape(block: Any, block_vars: dict[str, Any], gallery_conf: dict[str, Any]) -> str:
    """The figures that a block of a lab has drawn, each for a light page and for a dark one.

    What is seen is the figure's label, `fig.set_label(…)`; it follows the title in the alt text.
    """
    import matplotlib.pyplot as plt

    figures = [plt.figure(number) for number in plt.get_fignums()]
    paths = block_vars["image_path_iterator"]
    texts = [_save(figure, next(paths), gallery_conf["src_dir"]) for figure in figures]
    plt.close("all")
    return "".join(texts)


def _save(figure: Any, path: str, source: str) -> str:
    from claimbook.teach.chart import INK

    buffer = io.StringIO()
    figure.savefig(buffer, format="svg", transparent=True)
    titles = [figure.get_suptitle(), *(axes.get_title() for axes in figure.axes)]
    title = next(filter(None, titles), "")
    alt = " ".join(f"{title}. {figure.get_label()}".split())
    text = ""
    for theme, ink in INKS.items():
        file = Path(path).with_suffix(".svg")
        if theme == "dark":  # the light one's name is where the thumbnail is looked for
            file = file.with_stem(f"{file.stem}_dark")
        file.write_text(buffer.getvalue().replace(INK, ink), "utf-8")
        place = PurePosixPath(os.path.relpath(file, source))
        text += dedent(f"""
            .. image:: /{place}
               :alt: {alt}
               :class: lab-figure only-{theme}
            """)
    return text
