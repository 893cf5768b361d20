// Simulates autograd for a small program of x and y, and backward(): values, nodes, saved tensors,
// and the gradients that each node receives and passes on. Pure: a test compares all of it with
// torch. Input is parsed here, never executed.

const autograd = (() => {
  const { raise, unread, answering, failing } = rule;
  const FUNCTIONS = ["exp", "log", "sqrt", "sin", "cos", "relu", "sigmoid", "tanh"];
  const MOST = 30; // most nodes shown

  // A value is a Python number { number, whole }, or a tensor { value, to, needs, made }: `to` is its
  // node, or the leaf itself, or null if nothing was recorded.
  const isTensor = (one) => one.value !== undefined;
  const plain = (number, whole) => {
    if (whole && !Number.isSafeInteger(number)) unread("That integer is too large for this page.");
    return { number: whole ? number + 0 : number, whole }; // integers have no -0
  };

  // As in C; in JavaScript, 1 ** NaN and (-1) ** Infinity are NaN.
  function power(base, exponent) {
    if (base === 1 || (base === -1 && Math.abs(exponent) === Infinity)) return 1;
    return base ** exponent;
  }

  // As in PyTorch, if the exponent is a number.
  function scalarPower(base, exponent) {
    if (exponent === 0.5) return Math.sqrt(base);
    if (exponent === -0.5) return 1 / Math.sqrt(base);
    return power(base, exponent);
  }

  // Python's arithmetic on two numbers, without PyTorch.
  const NUMBERS = {
    "+": (a, b) => plain(a.number + b.number, a.whole && b.whole),
    "-": (a, b) => plain(a.number - b.number, a.whole && b.whole),
    "*": (a, b) => plain(a.number * b.number, a.whole && b.whole),
    "/": (a, b) => {
      if (b.number === 0) unread("Python raises an error when a number is divided by zero.");
      return plain(a.number / b.number, false);
    },
    "**": (a, b) => {
      const found = power(a.number, b.number);
      if (!Number.isFinite(found)) unread("Python raises an error for that power of a number.");
      return plain(found, a.whole && b.whole && b.number >= 0);
    },
  };

  // The node's name, the result, the saved values, and the gradients of the operands, given `self`,
  // `other` and the result.
  function tensorOperation(sign, a, b) {
    const [self, other] = [a.value, b.value];
    const both = { self: a, other: b };
    const needed = { ...(b.needs && { self: a }), ...(a.needs && { other: b }) };
    return {
      "+": () => ["AddBackward0", self + other, { alpha: plain(1, true) }, (g) => [g, g]],
      "-": () => ["SubBackward0", self - other, { alpha: plain(1, true) }, (g) => [g, -g]],
      "*": () => ["MulBackward0", self * other, needed, (g) => [g * other, g * self]],
      "/": () => ["DivBackward0", self / other, b.needs ? both : { other: b },
        (g) => [g / other, -g * (self / other / other)]],
      "**": () => ["PowBackward1", power(self, other), { self: a, exponent: b, result: null },
        (g, result) => [
          other === 0 ? 0 : g * (other * power(self, other - 1)),
          g * (self === 0 && other >= 0 ? 0 : result * Math.log(self)),
        ]],
    }[sign]();
  }

  // The same for a Python number on the right or left.
  function rightNumber(sign, a, number) {
    if (sign !== "**") {
      return tensorOperation(sign, a, { value: number.number, needs: false, wrapped: number });
    }
    const [self, exponent] = [a.value, number.number];
    return ["PowBackward0", scalarPower(self, exponent), { self: a, exponent: number },
      (g) => [exponent === 0 ? 0 : g * (exponent * scalarPower(self, exponent - 1))]];
  }

  function powerOfNumber(number, b) {
    const [base, exponent] = [number.number, b.value];
    const zero = base === 0 && exponent >= 0;
    return ["PowBackward2", power(base, exponent), { self: number, exponent: b, result: null },
      (g, result) => [g * (zero ? 0 : result * Math.log(base))]];
  }

  const UNARY = {
    "-": (a) => ["NegBackward0", -a, {}, (g) => [-g]],
    reciprocal: (a) => ["ReciprocalBackward0", 1 / a, { result: null }, (g, r) => [-g * (r * r)]],
    exp: (a) => ["ExpBackward0", Math.exp(a), { result: null }, (g, r) => [g * r]],
    log: (a) => ["LogBackward0", Math.log(a), { self: a }, (g) => [g / a]],
    sin: (a) => ["SinBackward0", Math.sin(a), { self: a }, (g) => [g * Math.cos(a)]],
    cos: (a) => ["CosBackward0", Math.cos(a), { self: a }, (g) => [g * -Math.sin(a)]],
    sqrt: (a) => ["SqrtBackward0", Math.sqrt(a), { result: null }, (g, r) => [g / (2 * r)]],
    relu: (a) => ["ReluBackward0", a < 0 ? 0 : a, { result: null }, (g, r) => [r <= 0 ? 0 : g]],
    sigmoid: (a) => ["SigmoidBackward0", 1 / (1 + Math.exp(-a)), { result: null },
      (g, r) => [g * (1 - r) * r]],
    tanh: (a) => ["TanhBackward0", Math.tanh(a), { result: null }, (g, r) => [g * (1 - r * r)]],
  };

  // The gradients that each node passes on, as Python expressions of g, the one that it receives.
  const FORMULAS = {
    AddBackward0: ["g", "g"], SubBackward0: ["g", "-g"], RsubBackward1: ["-g"], NegBackward0: ["-g"],
    MulBackward0: ["g * other", "g * self"],
    DivBackward0: ["g / other", "-g * self / other**2"],
    ReciprocalBackward0: ["-g * result**2"],
    PowBackward0: ["g * exponent * self**(exponent - 1)"],
    PowBackward1: ["g * exponent * self**(exponent - 1)", "g * result * log(self)"],
    PowBackward2: ["g * result * log(self)"],
    ExpBackward0: ["g * result"], LogBackward0: ["g / self"], SinBackward0: ["g * cos(self)"],
    CosBackward0: ["-g * sin(self)"], SqrtBackward0: ["g / (2 * result)"],
    ReluBackward0: ["0 if result <= 0 else g"],
    SigmoidBackward0: ["g * result * (1 - result)"],
    TanhBackward0: ["g * (1 - result**2)"],
  };

  function recorder() {
    const nodes = [];

    // The result of an operation, with a node if an operand requires a gradient.
    function record([name, value, saved, backward], operands, made) {
      const result = { value, to: null, needs: operands.some((one) => one.needs), made };
      if (!result.needs) return result;
      if (nodes.length === MOST) unread(`At most ${MOST} operations can be shown here.`);
      result.to = nodes.length;
      const kept = Object.entries(saved).map(([key, one]) => [key, one ?? result]);
      nodes.push({
        name, made, value, saved: kept, backward, result,
        inputs: operands.map((one) => (one.needs ? one.to : null)),
      });
      return result;
    }

    function unary(kind, a, made) {
      const [name, value, saved, backward] = UNARY[kind](a.value);
      return record([name, value, saved.self === undefined ? saved : { self: a }, backward], [a], made);
    }

    function binary(sign, a, b, made, right) {
      if (!isTensor(a) && !isTensor(b)) return NUMBERS[sign](a, b);
      if (isTensor(a) && isTensor(b)) return record(tensorOperation(sign, a, b), [a, b], made);
      const none = { needs: false };
      if (isTensor(a)) {
        return record(rightNumber(sign, a, b), sign === "**" ? [a] : [a, none], made);
      }
      if (sign === "+" || sign === "*") return record(rightNumber(sign, b, a), [b, none], made);
      if (sign === "-") {
        const saved = { alpha: plain(1, true) };
        return record(["RsubBackward1", a.number - b.value, saved, (g) => [-g]], [b], made);
      }
      if (sign === "**") return record(powerOfNumber(a, b), [b], made);
      const inverse = unary("reciprocal", b, `1 / ${right}`); // 2 / b is b.reciprocal() * 2
      return record(rightNumber("*", inverse, a), [inverse, none], made);
    }

    return { nodes, unary, binary };
  }

  const TOKEN = /\s*(?:((?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)|([A-Za-z_]\w*)|(\*\*|[-+*/()]))/y;

  function tokens(line) {
    const found = [];
    const text = line.trimEnd();
    TOKEN.lastIndex = 0;
    while (TOKEN.lastIndex < text.length) {
      const at = TOKEN.lastIndex;
      const read = TOKEN.exec(text);
      if (!read) {
        const hint = text.includes("^") ? " A power is written x**2." : "";
        unread(`“${text.slice(at).trim()}” cannot be read here: x, y, numbers, + - * / ** and ${
          FUNCTIONS.join(", ")}.${hint}`);
      }
      const [, number, name, sign] = read;
      const word = number ?? name ?? sign;
      found.push({ number, name, sign, from: TOKEN.lastIndex - word.length, to: TOKEN.lastIndex });
    }
    return found;
  }

  // Parses and evaluates one line of Python.
  function evaluated(line, names, { unary, binary }) {
    const all = tokens(line);
    let at = 0;
    const next = (...signs) => signs.includes(all[at]?.sign) && all[at++].sign;
    const need = (sign) => next(sign) || unread(`A “${sign}” is missing in “${line.trim()}”.`);
    const text = (from) => line.slice(from, all[at - 1].to);
    const start = () => all[at]?.from ?? unread(`“${line.trim()}” ends too early.`);

    function chain(part, ...signs) {
      const from = start();
      let left = part();
      for (let sign = next(...signs); sign; sign = next(...signs)) {
        const second = start();
        const right = part();
        left = binary(sign, left, right, text(from), text(second));
      }
      return left;
    }

    const sum = () => chain(product, "+", "-");
    const product = () => chain(factor, "*", "/");

    function factor() {
      const from = start();
      const sign = next("-", "+");
      if (!sign) return raised();
      const one = factor();
      if (sign === "+") return one;
      return isTensor(one) ? unary("-", one, text(from)) : plain(-one.number, one.whole);
    }

    function raised() {
      const from = start();
      const base = atom();
      if (!next("**")) return base;
      const second = start();
      const exponent = factor();
      return binary("**", base, exponent, text(from), text(second));
    }

    function atom() {
      const from = start();
      if (next("(")) {
        const inner = sum();
        need(")");
        return inner;
      }
      const { number, name } = all[at++];
      if (number) return plain(Number(number), /^\d+$/.test(number));
      if (name in names) return names[name];
      if (!FUNCTIONS.includes(name)) {
        unread(name ? `“${name}” is not known here: x, y, names from earlier lines, and ${
          FUNCTIONS.join(", ")}.` : `Something is missing in “${line.trim()}”.`);
      }
      need("(");
      const inner = sum();
      need(")");
      if (isTensor(inner)) return unary(name, inner, text(from));
      return raise("TypeError", `${name}(): argument 'input' (position 1) must be Tensor, not ${
        inner.whole ? "int" : "float"}`);
    }

    const found = sum();
    if (at < all.length) {
      const [{ number }, { name }] = all.slice(at - 1);
      const hint = number && name ? ` Write ${number} * ${name}.` : "";
      unread(`“${line.slice(all[at].from).trim()}” cannot be read here.${hint}`);
    }
    return found;
  }

  // The lines of a program, [{ name, line }]; the last one is the result.
  function statements(program) {
    const lines = program.replace(/#.*$/gm, "").replace(/\b(torch|F)\.(?=[a-z])/g, "")
      .split(/[\n;]/).filter((line) => line.trim());
    if (!lines.length) unread("Type an expression of x and y, for example x * y + sin(x).");
    return lines.map((line, at) => {
      const [, name, rest] = line.match(/^\s*(?:([A-Za-z_]\w*)\s*=)?\s*(.*?)\s*$/);
      if (["x", "y", ...FUNCTIONS].includes(name)) unread(`The name ${name} is taken; choose another.`);
      if (!name && at < lines.length - 1) unread(`Give “${rest}” a name: h = ${rest}.`);
      return { name: name ?? "out", line: rest };
    });
  }

  function leaf(name, typed, needs) {
    const text = typed.trim() || "0";
    if (!/^\s*[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?\s*$/i.test(text)) {
      unread(`${name} must be a number, for example 2 or -0.5.`);
    }
    return { value: Number(text), to: name, needs, made: name };
  }

  // The nodes that lead to the result, in recording order, renumbered.
  function reached(nodes, result) {
    const found = new Set();
    const visit = (to) => {
      if (typeof to !== "number" || found.has(to)) return;
      found.add(to);
      nodes[to].inputs.forEach(visit);
    };
    visit(result.to);
    const order = [...found].sort((a, b) => a - b);
    const renamed = (to) => (typeof to === "number" ? order.indexOf(to) : to);
    return order.map((at) => ({ ...nodes[at], inputs: nodes[at].inputs.map(renamed) }));
  }

  // The steps of backward(), from the last node to the first; a leaf once all its gradients are in.
  function backwards(nodes, result) {
    const waits = { x: 0, y: 0 };
    for (const { inputs } of nodes) for (const to of inputs) if (to in waits) waits[to] += 1;
    const arrived = {};
    const steps = [];
    const give = (to, gradient) => { arrived[to] = (arrived[to] ?? 0) + gradient; };
    if (!nodes.length) return [{ at: result.to, arrives: 1, passes: [] }];
    give(nodes.length - 1, 1);
    for (let at = nodes.length - 1; at >= 0; at--) {
      const { inputs, backward, value } = nodes[at];
      const gradients = backward(arrived[at], value);
      const passes = inputs.map((to, i) => (to === null ? null : gradients[i]));
      steps.push({ at, arrives: arrived[at], passes });
      inputs.forEach((to, i) => to !== null && give(to, passes[i]));
      for (const to of new Set(inputs)) {
        if (!(to in waits)) continue;
        waits[to] -= inputs.filter((one) => one === to).length;
        if (!waits[to]) steps.push({ at: to, arrives: arrived[to], passes: [] });
      }
    }
    return steps;
  }

  // The numbers of an answer as text, as JSON has no NaN.
  function told(one, labels) {
    if (one.wrapped) return { kind: "tensor", value: String(one.wrapped.number), of: null };
    if (isTensor(one)) return { kind: "tensor", value: String(one.value), of: labels.get(one) ?? one.made };
    return { kind: one.whole ? "int" : "float", value: String(one.number), of: null };
  }

  function written({ x, y, needs, program }, lines) {
    const used = FUNCTIONS.filter((name) => program.replace(/#.*$/gm, "").match(`\\b${name}\\b`));
    const float = (text) => (text.trim() || "0").replace(/^[-+]?\d+$/, "$&.0");
    const made = (name, text) => `${name} = torch.tensor(${float(text)}, dtype=torch.float64${
      needs.includes(name) ? ", requires_grad=True" : ""})`;
    return [
      ...(used.length ? [`from torch import ${used.join(", ")}`] : []),
      made("x", x), made("y", y), ...lines.map(({ name, line }) => `${name} = ${line}`),
      `${lines.at(-1).name}.backward()`, "x.grad, y.grad",
    ].join("\n");
  }

  // state: x and y as text, those that require grad (`needs`: "xy", "x", "y" or ""), the program.
  function run(state) {
    const lines = statements(state.program);
    const record = recorder();
    const names = Object.fromEntries(["x", "y"].map((name) => (
      [name, leaf(name, state[name], state.needs.includes(name))])));
    const code = written(state, lines);
    const labels = new Map([[names.x, "x"], [names.y, "y"]]);
    for (const { name, line } of lines) {
      const value = failing(evaluated)(line, names, record);
      if (value.error) return { code, line, error: value.error };
      names[name] = value;
      if (!labels.has(names[name])) labels.set(names[name], name);
    }
    const result = names[lines.at(-1).name];
    if (!isTensor(result)) unread("The last line is a number; use x or y in it.");
    const value = String(result.value);
    if (!result.needs) {
      return { code, line: `${lines.at(-1).name}.backward()`, value, error: "RuntimeError: element 0 of "
        + "tensors does not require grad and does not have a grad_fn" };
    }
    const nodes = reached(record.nodes, result);
    const steps = backwards(nodes, result);
    const gradient = (name) => steps.find(({ at }) => at === name)?.arrives;
    const text = (number) => (number === undefined || number === null ? null : String(number));
    return {
      code, value, x: text(gradient("x")), y: text(gradient("y")),
      nodes: nodes.map((node) => ({
        name: node.name, made: node.made, label: labels.get(node.result) ?? node.made,
        value: String(node.value), inputs: node.inputs,
        formulas: node.inputs.map((to, i) => (to === null ? null : FORMULAS[node.name][i])),
        saved: Object.fromEntries(node.saved.map(([key, one]) => [key, told(one, labels)])),
      })),
      steps: steps.map(({ at, arrives, passes }) => (
        { at, arrives: text(arrives), passes: passes.map(text) })),
    };
  }

  return { answer: answering(run) };
})();
