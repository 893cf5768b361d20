"""What sphinx-gallery is told of labs: how to start each afresh, and how to take its pictures.

sphinx-gallery's own names for these import Matplotlib in every build, also where no lab is run.
"""

from typing import Any


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
