"""A clock that says what a test wants: each `compare` measures the ratio in `RATIO`.

Python imports this file as it starts if its folder is on the path.
"""

import os
import sys
from importlib.machinery import PathFinder

RATIO = float(os.environ["RATIO"])


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
    names = module.label(a, "a"), module.label(b, "b")
    module.record(" / ".join(names), RATIO, "ratio")
    return module.Comparison((RATIO,), (1.0,))


sys.meta_path.insert(0, _Speed)
