"""How a link to a page looks where it is shared: Open Graph tags and a picture."""

import io
import textwrap
from html import escape

SIZE = (1200, 630)
"""Pixels; what https://ogp.me calls for is a picture about twice as wide as high."""
PAPER, INK, ACCENT = "#ffffff", "#1f2328", "#ee4c2c"


def tags(site: str, title: str, summary: str, address: str, picture: str) -> str:
    """The tags for the head of a page; both addresses are absolute."""
    properties = {
        "og:type": "article",
        "og:site_name": site,
        "og:title": title,
        "og:description": summary,
        "og:url": address,
        "og:image": picture,
        "og:image:width": SIZE[0],
        "og:image:height": SIZE[1],
        "og:image:alt": title,
    }
    lines = [
        f'<meta property="{name}" content="{escape(str(value))}">'
        for name, value in properties.items()
    ]
    return "\n".join([*lines, '<meta name="twitter:card" content="summary_large_image">'])


def card(site: str, title: str) -> bytes:
    """A PNG with the title of a page, large enough to be read as a thumbnail."""
    from PIL import Image, ImageDraw, ImageFont

    picture = Image.new("RGB", SIZE, PAPER)
    draw = ImageDraw.Draw(picture)
    draw.rectangle((0, 0, 24, SIZE[1]), fill=ACCENT)
    lines = textwrap.fill(title, 24)
    size = 88 if lines.count("\n") < 3 else 64
    large = ImageFont.load_default(size)
    draw.multiline_text((90, 80), lines, INK, large, spacing=20)
    draw.text((90, SIZE[1] - 110), site, ACCENT, ImageFont.load_default(44))
    made = io.BytesIO()
    picture.quantize(16).save(made, "PNG", optimize=True)
    return made.getvalue()
