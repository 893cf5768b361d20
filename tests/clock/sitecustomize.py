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
    names, ratio = (module.label(a, "a"), module.label(b, "b")), float(os.environ["RATIO"])
    module.record(" / ".join(names), ratio, "ratio")
    return module.Comparison((ratio,), (1.0,))


sys.meta_path.insert(0, _Speed)
