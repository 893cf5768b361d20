"""Find the names of torch that code uses, from its syntax alone."""

import ast
from collections.abc import Iterator

PRESET = {"torch": "torch", "nn": "torch.nn", "F": "torch.nn.functional"}
"""Names that examples find defined → what they mean."""
TENSOR = "torch.Tensor"
"""The class of an object of which nothing is known."""
OBJECTS = {"torch.nn.": "torch.nn.Module", "torch.optim.": "torch.optim.Optimizer"}
"""How the names of classes begin → the class whose methods their objects have."""
LITERALS = (ast.Constant, ast.JoinedStr, ast.List, ast.Dict, ast.Set, ast.Tuple)
"""Values that are visibly no tensors."""


def used(code: str) -> set[str]:
    r"""Return the dotted names that code may use; not all of them need exist in torch.

    A method counts as one of `torch.Tensor`, unless the object is visibly an instance of a class
    of `torch.nn` or `torch.optim`.

    >>> sorted(used("m = nn.Linear(2, 1)\nm.train()\ntorch.ones(2).view(1, 2)"))
    ['torch.Tensor.view', 'torch.nn.Linear', 'torch.nn.Module.train', 'torch.ones']
    """
    try:
        tree = ast.parse(code)
    except SyntaxError:  # the page scan reports it
        return set()
    names = _Names(tree)
    found = {names.meant(n) for n in ast.walk(tree) if isinstance(n, ast.Attribute | ast.Name)}
    return {n for n in found if n and n.startswith("torch.")} - set(PRESET.values())


class _Names:
    """The meaning of the names in a piece of code."""

    def __init__(self, tree: ast.AST) -> None:
        self._names = {**PRESET, **dict(_imports(tree))}
        self._classes: dict[str, str] = {}
        """Class that the code defines → the one of `OBJECTS` that it extends."""
        self._objects: dict[str, str] = {}
        """Object → the one of `OBJECTS` whose methods it has."""
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                for base in filter(None, map(self._class, node.bases)):
                    self._classes.setdefault(node.name, base)
        for node in ast.walk(tree):
            if isinstance(node, ast.Assign) and (kind := self._object(node.value)):
                self._objects |= {to.id: kind for to in node.targets if isinstance(to, ast.Name)}

    def meant(self, node: ast.expr) -> str | None:
        """Return the dotted name that an expression means."""
        name = self._dotted(node)
        if name or not isinstance(node, ast.Attribute) or isinstance(node.value, LITERALS):
            return name
        return f"{self._object(node.value) or TENSOR}.{node.attr}"

    def _dotted(self, node: ast.expr) -> str | None:
        if isinstance(node, ast.Name):
            return self._names.get(node.id)
        if isinstance(node, ast.Attribute) and (holder := self._dotted(node.value)):
            return f"{holder}.{node.attr}"
        return None

    def _object(self, node: ast.expr) -> str | None:
        """Return the class whose methods a value has, if it is visibly made by that class."""
        if isinstance(node, ast.Call):
            return self._class(node.func)
        return self._objects.get(node.id) if isinstance(node, ast.Name) else None

    def _class(self, node: ast.expr) -> str | None:
        name = self._dotted(node) or ""
        if isinstance(node, ast.Name) and node.id in self._classes:
            return self._classes[node.id]
        if not name.rpartition(".")[2][:1].isupper():
            return None
        return next((kind for prefix, kind in OBJECTS.items() if name.startswith(prefix)), None)


def _imports(tree: ast.AST) -> Iterator[tuple[str, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for name in node.names:
                top = name.name.partition(".")[0]
                yield (name.asname, name.name) if name.asname else (top, top)
        elif isinstance(node, ast.ImportFrom) and node.module:
            for name in node.names:
                yield name.asname or name.name, f"{node.module}.{name.name}"
