"""Torch's side of the explorer of autograd: a program of x and y, its graph and its gradients."""

import ast
import math
import operator
from functools import cache

import torch

CALL = "autograd.answer(drawn)"
DIGITS = 6
"""To which numbers are compared: exp and the like differ in the last bits between libraries, and
what follows may enlarge that. The explorer shows as many."""
FUNCTIONS = ["exp", "log", "sqrt", "sin", "cos", "relu", "sigmoid", "tanh"]
SIGNS = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
}


def draw(source):
    """One to three lines, as a reader types them, of numbers for which domains matter."""
    if source.random() < 0.1:
        state = {name: source.choice(["0", "-0.0", "1", "-1", "-2"]) for name in "xy"}
        return {**state, "needs": "xy", "program": source.choice(EDGES)}
    names, lines = ["x", "y"], []
    for name in source.choice([[], [], [], ["h"], ["h", "g"]]):
        lines.append(f"{name} = {_expression(source, names, source.randint(1, 2))}")
        names.append(name)
    lines.append(_expression(source, names[::-1], source.randint(1, 4)))
    if source.random() < 0.2:
        lines[-1] = f"z = {lines[-1]}"
    needs = source.choice([*20 * ["xy"], *3 * ["x", "y"], ""])
    state = {name: _number(source) for name in "xy"}
    return {**state, "needs": needs, "program": "\n".join(lines)}


EDGES = [
    *("0**x", "0.0**x", "x**0", "x**y", "y**x * 0", "1 / relu(x)", "log(x)**0.5", "log(x)**-0.5"),
    *("log(x) * 0", "x / y", "x / x", "(x - y) / x", "1**log(x)", "(-1)**log(x)", "2**-1 * x"),
    *(
        "exp(800 * x)",
        "relu(log(x))",
        "sqrt(x)",
        "sqrt(x) * 0",
        "y / (x * -0)",
        "sigmoid(800 * x)",
        "tanh(1 / x)",
        "sin(1 / x)",
        "x**-1",
        "x**0.5",
    ),
]
"""Programs at the ends of what the functions are defined for."""


def _number(source):
    kind = source.random()
    if kind < 0.1:
        return source.choice(["0", "1", "-1", "0.5", "-0.0", "800", "-800"])
    return str(source.randint(-4, 4)) if kind < 0.5 else f"{source.uniform(-3, 3):.2f}"


def _expression(source, names, depth):
    if depth == 0 or source.random() < 0.1:
        if source.random() < 0.75:
            return source.choice([*names, names[0]])
        return source.choice(["2", "3", "1", "0", "0.5", "1.5", "10", "2.0", "1e-3"])
    kind = source.random()
    if kind < 0.3:
        inner = _expression(source, names, depth - 1)
        if not any(name in inner.replace("exp", "") for name in names) and source.random() < 0.9:
            inner = names[0]
        return f"{source.choice(FUNCTIONS)}({inner})"
    if kind < 0.36:
        return f"{source.choice('---+')}{_atom(source, names, depth - 1)}"
    sign = source.choice(["+", "-", "*", "*", "/", "**"])
    left, right = (_atom(source, names, depth - 1) for _ in range(2))
    space = source.choice(["", " "]) if sign != "**" else ""
    text = f"{left}{space}{sign}{space}{right}"
    return f"({text})" if source.random() < 0.1 else text


def _atom(source, names, depth):
    text = _expression(source, names, depth)
    bare = text.isalnum() or source.random() < 0.3
    return text if bare else f"({text})"


class Watcher:
    """Computes a program with torch and notes what text made each tensor and each node."""

    def __init__(self, names):
        self.names, self.made, self.results, self.kept = names, {}, {}, []

    def run(self, name, line):
        """Compute a line and give its value a name."""
        value = self.value(ast.parse(line, mode="eval").body, line)
        self.names[name] = value
        return value

    def value(self, tree, line):
        """The value of an expression."""
        text = ast.get_source_segment(line, tree)
        match tree:
            case ast.Constant(value):
                return value
            case ast.Name(name):
                return self.names[name]
            case ast.BinOp(left, sign, right):
                operands = self.value(left, line), self.value(right, line)
                value = SIGNS[type(sign)](*operands)
                self.note(value, text, f"1 / {_bracketed(right, line)}")
            case ast.UnaryOp(sign, operand):
                value = SIGNS[type(sign)](self.value(operand, line))
                self.note(value, text)
            case ast.Call(function, [argument]):
                value = getattr(torch, function.id)(self.value(argument, line))
                self.note(value, text)
        return value

    def note(self, value, text, inverse=""):
        """Remember who made a tensor; the inverse that a number divided by it is made of, too."""
        if not torch.is_tensor(value):
            if isinstance(value, complex) or (isinstance(value, int) and abs(value) >= 2**53):
                raise UnclearError
            return
        self.kept.append(value)
        self.made.setdefault(value.data_ptr(), text)
        node = value.grad_fn
        if node and node not in self.results:
            self.results[node] = value
            for child, _ in node.next_functions:
                if child and child not in self.results and "Reciprocal" in child.name():
                    self.note(child._saved_result, inverse)


REFUSED = {"unread": True}


class UnclearError(Exception):
    """What Python itself refuses, or has no real number for."""


def _bracketed(tree, line):
    """The text of an operand with the brackets around it."""
    start, end = tree.col_offset, tree.end_col_offset
    while line[:start].rstrip().endswith("(") and line[end:].lstrip().startswith(")"):
        start, end = line[:start].rstrip().rindex("("), line.index(")", end) + 1
    return line[start:end]


def torch_says(case):
    """All that the explorer shows, computed by torch; `REFUSED` where Python itself refuses."""
    lines = [_named(line) for line in case["program"].splitlines()]
    code = written(case, lines)
    before, _, _ = code.partition("\n" + " = ".join(lines[0]))
    names = {"torch": torch}
    exec(before, names)
    watcher = Watcher(names)
    try:
        for name, line in lines:
            result = watcher.run(name, line)
        if not torch.is_tensor(result):
            return REFUSED
    except TypeError as error:
        return {"code": code, "line": line, "error": f"TypeError: {error}"}
    except (ZeroDivisionError, OverflowError, UnclearError):
        return REFUSED
    labels = labelled(watcher, lines)
    told = {"code": code, "value": repr(result.item())}
    try:
        nodes, steps = passed(result, names, watcher, labels)
    except RuntimeError as error:
        return {**told, "line": f"{lines[-1][0]}.backward()", "error": f"RuntimeError: {error}"}
    grads = {name: gradient(names[name]) for name in "xy"}
    return {**told, **grads, "nodes": nodes, "steps": steps}


def _named(line):
    name, separator, rest = line.partition(" = ")
    return (name, rest) if separator else ("out", line)


def written(case, lines):
    """The program as a reader can run it."""
    used = [name for name in FUNCTIONS if f"{name}(" in case["program"]]
    imports = [f"from torch import {', '.join(used)}"] if used else []
    leaves = []
    for name in "xy":
        number = case[name] if "." in case[name] else f"{case[name]}.0"
        flag = ", requires_grad=True" if name in case["needs"] else ""
        leaves.append(f"{name} = torch.tensor({number}, dtype=torch.float64{flag})")
    computed = [f"{name} = {line}" for name, line in lines]
    return "\n".join([*imports, *leaves, *computed, f"{lines[-1][0]}.backward()", "x.grad, y.grad"])


def labelled(watcher, lines):
    """What a tensor is called: by its first name, otherwise by what made it."""
    given = {}
    for name in ["x", "y", *(name for name, _ in lines)]:
        value = watcher.names[name]
        if torch.is_tensor(value):
            given.setdefault(value.data_ptr(), name)
    return {**watcher.made, **given}


def passed(result, names, watcher, labels):
    """The nodes in the order of their recording, and the steps of the backward pass."""
    nodes = sorted(reachable(result.grad_fn), key=lambda node: node._sequence_nr())
    place = {node: at for at, node in enumerate(nodes)}
    steps = []
    for node in nodes:
        node.register_hook(lambda passes, arrives, node=node: steps.append((node, arrives, passes)))
    leaves = {}
    for name in "xy":
        leaf = names[name]
        if leaf.requires_grad:
            leaves[torch.autograd.graph.get_gradient_edge(leaf).node] = name
            leaf.register_post_accumulate_grad_hook(
                lambda leaf, name=name: steps.append((name, (leaf.grad.clone(),), ()))
            )
    where = {**place, **leaves}
    described = [describe(node, where, watcher, labels) for node in nodes]
    formulas = {node: Formulas(node, FORMULAS[node.name()]) for node in nodes}
    result.backward()
    for node, arrives, passes in steps:
        if node in formulas:
            described[place[node]]["formulas"] = formulas[node].checked(arrives[0], passes)
    return described, [
        {"at": where.get(at, at), "arrives": _text(arrives[0]), "passes": [*map(_text, passes)]}
        for at, arrives, passes in steps
    ]


FORMULAS = {
    "AddBackward0": ["g", "g"],
    "SubBackward0": ["g", "-g"],
    "RsubBackward1": ["-g"],
    "NegBackward0": ["-g"],
    "MulBackward0": ["g * other", "g * self"],
    "DivBackward0": ["g / other", "-g * self / other**2"],
    "ReciprocalBackward0": ["-g * result**2"],
    "PowBackward0": ["g * exponent * self**(exponent - 1)"],
    "PowBackward1": ["g * exponent * self**(exponent - 1)", "g * result * log(self)"],
    "PowBackward2": ["g * result * log(self)"],
    "ExpBackward0": ["g * result"],
    "LogBackward0": ["g / self"],
    "SinBackward0": ["g * cos(self)"],
    "CosBackward0": ["-g * sin(self)"],
    "SqrtBackward0": ["g / (2 * result)"],
    "ReluBackward0": ["0 if result <= 0 else g"],
    "SigmoidBackward0": ["g * result * (1 - result)"],
    "TanhBackward0": ["g * (1 - result**2)"],
}
"""How each node makes what it passes on, from what it receives and what it saved."""


def saved(node):
    """Yields what a node saved, by name."""
    for key in _attributes(type(node)):
        if key.startswith("_saved_") and (value := getattr(node, key)) is not None:
            yield key.removeprefix("_saved_"), value


@cache
def _attributes(kind):
    return dir(kind)


class Formulas:
    """The formulas of a node with the values that it saved, read before they are freed."""

    def __init__(self, node, formulas):
        self.formulas = formulas
        self.names = {"log": torch.log, "sin": torch.sin, "cos": torch.cos}
        for name, value in saved(node):
            number = value.item() if torch.is_tensor(value) else value
            self.names[name] = torch.tensor(float(number), dtype=torch.float64)

    def checked(self, arrives, passes):
        """The formulas of the gradients that are passed on; None for what torch does otherwise.

        What is not finite is left out: there torch has rules of its own.
        """
        found = [
            None if one is None else text for one, text in zip(passes, self.formulas, strict=False)
        ]
        found += [None] * (len(passes) - len(found))
        return [
            text if text is None or self.agrees(text, arrives, one) else f"not {text}"
            for text, one in zip(found, passes, strict=True)
        ]

    def agrees(self, text, arrives, passed):
        """Whether a formula gives what was passed on."""
        made = torch.as_tensor(eval(text, {**self.names, "g": arrives}))
        if not (made.isfinite() and passed.isfinite()):
            return True
        return math.isclose(made.item(), passed.item(), rel_tol=10**-DIGITS, abs_tol=1e-9)


def reachable(root):
    """The nodes behind a result, without the ends of the graph."""
    found, waiting = set(), [root]
    while waiting:
        node = waiting.pop()
        if node and node not in found and "AccumulateGrad" not in node.name():
            found.add(node)
            waiting += [child for child, _ in node.next_functions]
    return found


def describe(node, where, watcher, labels):
    """What is told of a node."""
    result = watcher.results[node]
    return {
        "name": node.name(),
        "made": watcher.made[result.data_ptr()],
        "label": labels[result.data_ptr()],
        "value": repr(result.item()),
        "inputs": [where.get(child) for child, _ in node.next_functions],
        "saved": {name: kept(value, labels) for name, value in saved(node)},
    }


def kept(value, labels):
    """What a node saved: the kind, the number, and which tensor it is."""
    if torch.is_tensor(value):
        label = labels.get(value.data_ptr())
        return {"kind": "tensor", "value": repr(float(value.item())), "of": label}
    return {"kind": type(value).__name__, "value": repr(value), "of": None}


def gradient(leaf):
    """What `backward` left in a leaf."""
    return None if leaf.grad is None else repr(leaf.grad.item())


def _text(tensor):
    return None if tensor is None else repr(tensor.item())


def same(right, answer):
    """Whether all is equal, and numbers are to six digits."""
    if right == REFUSED:
        return "unread" in answer
    if isinstance(right, dict):
        return (
            isinstance(answer, dict)
            and right.keys() == answer.keys()
            and all(same(one, answer[key]) for key, one in right.items())
        )
    if isinstance(right, list):
        return len(right) == len(answer) and all(map(same, right, answer))
    if isinstance(right, str) and isinstance(answer, str) and right != answer:
        return close(right, answer)
    return right == answer


def close(right, answer):
    """Whether two texts are the same number."""
    try:
        a, b = float(right), float(answer)
    except ValueError:
        return False
    return math.isclose(a, b, rel_tol=10**-DIGITS, abs_tol=1e-9) or (
        math.isnan(a) and math.isnan(b)
    )


MUTANTS = [
    ("[g * -Math.sin(a)]", "[g * Math.sin(a)]"),
    ("[g / (2 * r)]", "[g / r]"),
    ('["g / (2 * result)"]', '["g / result"]'),
    ("if (base === 1 ||", "if (false ||"),
    ("if (exponent === 0.5) return Math.sqrt(base);", ""),
    ("number: whole ? number + 0 : number", "number"),
    ("a.whole && b.whole && b.number >= 0", "a.whole && b.whole"),
    ("plain(a.number / b.number, false)", "plain(a.number / b.number, a.whole && b.whole)"),
    ("(b.needs && { self: a })", "{ self: a }"),
    ("(a.needs && { other: b })", "(b.needs && { other: b })"),
    ("(g) => [g, -g]]", "(g) => [g, g]]"),
    ("[g * other, g * self]", "[g * self, g * other]"),
    ("b.needs ? both : { other: b }", "both"),
    ("-g * (self / other / other)", "g * (self / other / other)"),
    ("other === 0 ? 0 : g * (other", "self === 0 ? 0 : g * (other"),
    ("power(self, other - 1)", "power(self, other)"),
    ("g * (self === 0 && other >= 0 ? 0 : result", "g * (self === 0 ? 0 : result"),
    ("result * Math.log(self)", "Math.log(self)"),
    ("exponent === 0 ? 0 : g", "g"),
    ("scalarPower(self, exponent - 1)", "scalarPower(self, exponent)"),
    ("base === 0 && exponent >= 0", "base === 0 && exponent > 0"),
    ("result * Math.log(base)", "result * base"),
    ("[-g * (r * r)]", "[-g * r]"),
    ("(g, r) => [g * r]]", "(g) => [g]]"),
    ("{ self: a }, (g) => [g / a]", "{ result: null }, (g) => [g / a]"),
    ("g * Math.cos(a)", "g * Math.sin(a)"),
    ("a < 0 ? 0 : a", "Math.max(a, 0) + 0"),
    ("r <= 0 ? 0 : g", "r < 0 ? 0 : g"),
    ("g * (1 - r) * r", "g * (1 - r)"),
    ("g * (1 - r * r)", "g * (1 - r)"),
    ("one.needs ? one.to : null", "one.to"),
    ('sign === "**" ? [a] : [a, none]', "[a]"),
    ("a.number - b.value, saved, (g) => [-g]", "a.number - b.value, saved, (g) => [g]"),
    ('"RsubBackward1"', '"SubBackward0"'),
    ('rightNumber("*", inverse, a), [inverse', 'rightNumber("*", inverse, a), [b'),
    ('chain(product, "+", "-")', 'chain(factor, "+", "-", "*", "/")'),
    ("const exponent = factor();", "const exponent = atom();"),
    ("const one = factor();", "const one = atom();"),
    ('if (sign === "+") return one;', ""),
    ("/^\\d+$/.test(number)", "true"),
    ('inner.whole ? "int" : "float"', '"float"'),
    ("visit(result.to);", "nodes.forEach((_, at) => visit(at));"),
    ("sort((a, b) => a - b)", "sort((a, b) => b - a)"),
    ("(arrived[to] ?? 0) + gradient", "gradient"),
    ("inputs.filter((one) => one === to).length", "1"),
    ("if (!waits[to]) steps", "steps"),
    ("let at = nodes.length - 1; at >= 0; at--", "let at = 0; at < nodes.length; at++"),
    ("if (!labels.has(names[name])) labels", "labels"),
    ('needs.includes(name) ? ", requires', 'needs ? ", requires'),
    ("arrives: 1, passes", "arrives: 0, passes"),
    ("-g * self / other**2", "g * self / other**2"),
    ("if result <= 0 else g", "if result < 0 else g"),
]
"""Changes of the rule, each of which the comparison must notice."""
