// The explorer of autograd: shows the answers of autograd-rule.js as a graph and a table.

explorers.start("autograd", (() => {
  const { table, code, escaped, among, readable } = explorers;
  const WIDE = 140;
  const HIGH = 78;
  const BETWEEN = { x: 22, y: 46 };

  const infinite = { Infinity: "inf", "-Infinity": "-inf", NaN: "nan" };
  const short = (text) => infinite[text] ?? String(Number(Number(text).toPrecision(6)));
  const clipped = (text, most) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);

  const titled = ({ label, made }) => (label === made ? made : `${label} = ${made}`);

  // Rows of boxes, each node below its inputs; an arrow that crosses a row takes a place in it.
  // single: one node per row, for narrow screens.
  function rowsOf(nodes, leaves, single) {
    const depth = new Map(leaves.map((name) => [name, 0]));
    nodes.forEach(({ inputs }, at) => depth.set(at, single ? at + 1 : 1 + Math.max(0, ...inputs.map((to) => (
      to === null ? 0 : depth.get(to))))));
    const rows = [];
    const place = (one, row) => {
      const box = { one, ins: [], outs: [] };
      (rows[row] ??= []).push(box);
      return box;
    };
    const boxes = new Map([...depth].map(([one, row]) => [one, place(one, row)]));
    const edges = [];
    const join = (from, to) => {
      const edge = { from, to };
      from.outs.push(edge);
      to.ins.push(edge);
      return edge;
    };
    nodes.forEach(({ inputs }, at) => inputs.forEach((from, i) => {
      if (from === null) return;
      let box = boxes.get(from);
      const parts = [];
      for (let row = depth.get(from) + 1; row < depth.get(at); row++) {
        const point = place(null, row);
        parts.push(join(box, point));
        box = point;
      }
      edges.push({ at, i, parts: [...parts, join(box, boxes.get(at))] });
    }));
    return { rows, edges };
  }

  // The same with coordinates for each box and each end of an arrow.
  function placed({ rows, edges }) {
    const width = (box) => (box.one === null ? 12 : WIDE);
    const mean = ({ ins }) => ins.reduce((sum, { from }) => sum + from.x, 0) / (ins.length || 1);
    const sizes = rows.map((row) => row.reduce((sum, box) => sum + width(box) + BETWEEN.x, -BETWEEN.x));
    const whole = Math.max(...sizes);
    rows.forEach((row, r) => {
      if (r) row.sort((a, b) => mean(a) - mean(b));
      let x = (whole - sizes[r]) / 2;
      for (const box of row) {
        box.x = x + width(box) / 2;
        box.y = r * (HIGH + BETWEEN.y);
        x += width(box) + BETWEEN.x;
      }
    });
    // The ends at a box are in the order of their origins, so that arrows do not cross there.
    const spread = (box, ends, other, key) => {
      ends.sort((a, b) => a[other].x - b[other].x);
      const apart = Math.min(70, (WIDE - 20) / ends.length);
      ends.forEach((edge, n) => {
        edge[key] = box.x + (box.one === null ? 0 : (n - (ends.length - 1) / 2) * apart);
      });
    };
    for (const box of rows.flat()) {
      spread(box, box.ins, "from", "end");
      spread(box, box.outs, "to", "start");
    }
    return { rows, edges, width: whole, height: rows.length * (HIGH + BETWEEN.y) - BETWEEN.y };
  }

  // An arrow, labelled with the gradient that passed back through it.
  function arrow(found, state, { at, i, parts }) {
    const path = parts.map(({ from, to, start, end }, n) => {
      const [top, bottom] = [from.y + HIGH, to.y - (to.one === null ? 0 : 3)];
      const middle = (top + bottom) / 2;
      return `${n ? `L${start} ${top}` : `M${start} ${top}`}C${start} ${middle} ${end} ${middle} ${end} ${bottom}`;
    }).join("");
    const step = found.steps.findIndex((one) => one.at === at);
    const passed = step < state.back ? short(found.steps[step].passes[i]) : "";
    const now = step === state.back - 1 && !state.all ? "now" : "";
    const { to, end } = parts.at(-1);
    const raised = passed.length > 9 && end > to.x ? 22 : 8; // clear of a long label
    return `<path class="explorer-edge ${now}" d="${path}"/>${passed && `<text class="gradient ${now}"
      x="${end}" y="${to.y - raised}">${passed}</text>`}`;
  }

  function drawn(found, state, room) {
    const { nodes } = found;
    const leaves = ["x", "y"].filter((name) => found[name] !== null);
    const layered = placed(rowsOf(nodes, leaves, false));
    const { rows, edges, width, height } = layered.width <= room / 0.9 ? layered
      : placed(rowsOf(nodes, leaves, true));
    const lines = edges.map((edge) => arrow(found, state, edge));
    const box = ({ one, x, y }) => {
      const leaf = typeof one === "string";
      const node = nodes[one];
      const forward = leaf || one < state.forward;
      const step = found.steps.findIndex(({ at }) => at === one);
      const back = step < state.back;
      const now = state.back ? step === state.back - 1 : one === state.forward - 1;
      const texts = [
        [leaf ? one : clipped(titled(node), 18), "title"],
        [leaf ? "AccumulateGrad" : node.name, "small"],
        [forward ? `value ${short(leaf ? state[one] : node.value)}` : "", ""],
        [back ? `${leaf ? `${one}.grad` : "receives"} ${short(found.steps[step].arrives)}` : "", "gradient"],
      ];
      const ring = now && !state.all ? "now" : "";
      return `<rect class="explorer-box ${leaf ? "leaf" : ""} ${ring}" x="${x - WIDE / 2}" y="${y}"
        width="${WIDE}" height="${HIGH}" rx="6"/>${texts.map(([text, kind], n) => (
        `<text class="${kind}" x="${x}" y="${y + 17 + 18 * n}">${escaped(text)}</text>`)).join("")}`;
    };
    const boxes = rows.flat().filter(({ one }) => one !== null).map(box);
    return `<svg class="explorer-graph" role="img" aria-label="The graph; the table below has its numbers"
      width="${width + 4}" height="${height + 4}" viewBox="-2 -2 ${width + 4} ${height + 4}">
      ${lines.join("")}${boxes.join("")}</svg>`;
  }

  function savedText({ saved }) {
    return Object.entries(saved).map(([key, { kind, value, of }]) => {
      const about = of ? ` (${short(value)})` : kind === "tensor" ? " (a tensor)" : "";
      return code(`${key}=${of ?? short(value)}`) + about;
    });
  }

  // The gradients that arrived at a node or leaf by step `back`, one per arrow.
  const arrivals = ({ nodes, steps }, at, back) => steps.slice(0, back).flatMap((step) => (
    step.passes.filter((_, i) => nodes[step.at]?.inputs[i] === at))).map(short);

  function sumOf(found, at, back) {
    const all = arrivals(found, at, back);
    return all.length > 1 ? ` (${all.join(" + ")})` : "";
  }

  // A sentence on what a step does.
  function told(found, { forward, back }) {
    const { nodes, steps } = found;
    if (!back) {
      if (!forward) return "Nothing is computed yet: the leaves hold their values.";
      const node = nodes[forward - 1];
      const saved = savedText(node);
      return `Forward ${forward} of ${nodes.length}: ${code(node.made)} is ${short(node.value)}; its node
        ${code(node.name)} saves ${saved.length ? among(saved) : "nothing"}.`;
    }
    const { at, arrives, passes } = steps[back - 1];
    const head = `Backward ${back} of ${steps.length}:`;
    const sum = sumOf(found, at, back - 1);
    if (typeof at === "string") {
      return `${head} ${code(`${at}.grad`)} is <strong>${short(arrives)}</strong>${sum}.`;
    }
    return `${head} ${code(nodes[at].name)} of ${code(nodes[at].label)} receives g = ${
      short(arrives)}${sum} and passes on ${among(given(found, at, passes))}.`;
  }

  // The gradients that a node passes on: formula, number and target.
  const given = ({ nodes }, at, passes) => nodes[at].inputs.map((to, i) => (
    to === null ? "" : `${code(nodes[at].formulas[i])} = ${short(passes[i])} to ${
      code(typeof to === "string" ? to : nodes[to].label)}`)).filter(Boolean);

  function tableOf(found, { forward, back }) {
    const rows = found.nodes.map((node, at) => {
      const step = found.steps.findIndex((one) => one.at === at);
      const { arrives, passes } = found.steps[step];
      const done = step < back;
      return [
        `${code(titled(node))}<br><small>${node.name}</small>`,
        at < forward ? short(node.value) : "", at < forward ? savedText(node).join("<br>") || "nothing" : "",
        done ? short(arrives) : "",
        done ? given(found, at, passes).join("<br>") : "",
      ];
    });
    return rows.length ? table("Nodes, in the order of the forward pass",
      ["", "value", "saved", "receives g", "passes on"], rows, "stacked") : "";
  }

  return {
    fields: {
      program: {
        label: "Expression", rows: 2, hint: "x, y, numbers, + - * / **, exp, log, sqrt, sin, cos, relu, sigmoid, "
          + "tanh; a line may name a value: h = x * y",
      },
      x: { label: "x" },
      y: { label: "y" },
      needs: {
        label: "Requires grad",
        choices: {
          "Requires grad": [["xy", "x and y"], ["x", "x alone"], ["y", "y alone"], ["none", "neither"]],
        },
      },
      step: { label: "Step", slide: true, hint: "forward, then backward; the last shows the whole" },
    },
    examples: {
      "w * x + b, w is 3": { program: "3 * x + y", x: "2", y: "1" },
      "x² + 3x": { program: "x**2 + 3*x", x: "2", y: "1", needs: "x" },
      "a value used twice": { program: "h = x * y\nh**2 + h", x: "2", y: "3" },
      "x is data": { program: "sigmoid(x * y)", x: "2", y: "0.5", needs: "y" },
      "log of a negative": { program: "log(x) * y", x: "-1", y: "2" },
      "0 * inf": { program: "relu(x) * log(y)", x: "-1", y: "0" },
      "neither requires grad": { program: "x * y", x: "2", y: "3", needs: "none" },
      "a dead relu": { program: "relu(x * y - 10) + y", x: "2", y: "3" },
    },
    show(state, room) {
      const needs = state.needs.replace("none", "");
      const found = readable(autograd.answer({ ...state, needs }));
      if (found.error) {
        const value = found.value ? `; the value itself is ${short(found.value)}` : "";
        return {
          said: `${code(found.line)} raises an error${value}.`, error: found.error, code: found.code,
        };
      }
      const [forwards, backwards] = [found.nodes.length, found.steps.length];
      const steps = forwards + backwards;
      const all = state.step === "" || +state.step > steps;
      const at = all ? steps : +state.step;
      const now = {
        ...state, forward: Math.min(at, forwards), back: Math.max(at - forwards, 0), all,
      };
      const grads = ["x", "y"].map((name) => `${code(`${name}.grad`)} is <strong>${
        found[name] === null ? "None" : short(found[name])}</strong>${sumOf(found, name, backwards)}`);
      const said = all ? `The value is <strong>${short(found.value)}</strong>; ${among(grads)}.`
        : told(found, now);
      return {
        said, steps: steps + 1, stepped: all ? "the whole"
          : at > forwards ? `backward ${at - forwards} of ${backwards}` : `forward ${at} of ${forwards}`,
        html: drawn(found, now, room) + tableOf(found, now), code: found.code,
      };
    },
  };
})());
