"""A clock that says what a test wants: each `compare` measures the ratio in `RATIO`.

Python imports this file as it starts if its folder is on the path.
"""

import os
import sys
from importlib.machinery import PathFinder


class _Speed:
    """Finds `claimbook.teach.speed`, and changes it as soon as it is imported."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        if name != "claimbook.teach.speed":
            return None
        spec = PathFinder.find_spec(name, path, target)
        load = spec.loader.exec_module

        def exec_module(module):
            load(module)
            module.compare = lambda a, b, rounds=7: _measured(module, a, b)

        spec.loader.exec_module = exec_module
        return spec


def _measured(module, a, b):
    name = "{} took … times as long as {}".format(*module.said(None, a, b))
    return module.Comparison(name, (float(os.environ["RATIO"]),), (1.0,))


sys.meta_path.insert(0, _Speed)
