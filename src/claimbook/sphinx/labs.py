"""What sphinx-gallery is told of labs: how to start each afresh, and how to take its pictures.

sphinx-gallery's own ways import Matplotlib in every build, also where no lab is run; that is a
fifth of the time of a build in which nothing changed.
"""

import os
from typing import Any

from sphinx_gallery import gen_gallery


def import_matplotlib_late() -> None:
    """Leaves Matplotlib to the labs that draw with it, without a screen as sphinx-gallery would."""
    os.environ["MPLBACKEND"] = "agg"
    gen_gallery._import_matplotlib = lambda: None  # noqa: SLF001


def scrape(block: Any, block_vars: dict[str, Any], gallery_conf: dict[str, Any]) -> str:
    """The pictures that a block of a lab has drawn with Matplotlib."""
    from sphinx_gallery.scrapers import matplotlib_scraper

    text: str = matplotlib_scraper(block, block_vars, gallery_conf)
    return text


def reset(gallery_conf: dict[str, Any], filename: str) -> None:
    """Brings Matplotlib back to its defaults and torch to seed 0 and one thread."""
    import matplotlib as mpl
    import matplotlib.pyplot as plt
    import torch

    plt.close("all")
    mpl.rcdefaults()
    torch.manual_seed(0)
    torch.set_num_threads(1)
