"""The site in one zip, to be read from a disk: `python -m claimbook.exports.offline SITE ZIP`."""

import sys
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile

NOT_READ = {".doctrees", ".buildinfo", "objects.inv", "sitemap.xml", "cards"}
"""What no reader opens: Sphinx's own state, and what speaks to other sites."""


def pack(site: Path, archive: Path) -> None:
    """Packs all files of a site that a reader needs, in one folder with the archive's name."""
    with ZipFile(archive, "w", ZIP_DEFLATED, compresslevel=9) as packed:
        for path in sorted(site.rglob("*")):
            name = path.relative_to(site)
            if path.is_file() and not NOT_READ & set(name.parts):
                packed.write(path, Path(archive.stem, name))


if __name__ == "__main__":
    pack(Path(sys.argv[1]), Path(sys.argv[2]).with_suffix(".zip"))
