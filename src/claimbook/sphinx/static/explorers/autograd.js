// The explorer of autograd by hand: what autograd-rule.js answers, as a graph and a table.

explorers.start("autograd", (() => {
  const { table, python, code, error, escaped, Unread } = explorers;
  const WIDE = 140;
  const HIGH = 78;
  const BETWEEN = { x: 22, y: 46 };

  const infinite = { Infinity: "inf", "-Infinity": "-inf", NaN: "nan" };
  const short = (text) => infinite[text] ?? String(Number(Number(text).toPrecision(6)));
  const clipped = (text, most) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);

  const titled = ({ label, made }) => (label === made ? made : `${label} = ${made}`);

  // Rows of boxes, a node below what it reads; where an arrow crosses a row, it has a place there.
  function rowsOf(nodes, leaves) {
    const depth = new Map(leaves.map((name) => [name, 0]));
    nodes.forEach(({ inputs }, at) => depth.set(at, 1 + Math.max(0, ...inputs.map((to) => (
      to === null ? 0 : depth.get(to))))));
    const rows = [];
    const place = (one, row) => (rows[row] ??= []).push(one);
    for (const [one, row] of depth) place({ one, above: [] }, row);
    const routes = [];
    nodes.forEach(({ inputs }, at) => inputs.forEach((from, i) => {
      if (from === null) return;
      const route = [rows[depth.get(from)].find(({ one }) => one === from)];
      for (let row = depth.get(from) + 1; row < depth.get(at); row++) {
        const point = { one: null, above: [route.at(-1)] };
        place(point, row);
        route.push(point);
      }
      const end = rows[depth.get(at)].find(({ one }) => one === at);
      end.above.push(route.at(-1));
      routes.push({ at, i, route: [...route, end] });
    }));
    return { rows, routes };
  }

  function placed({ rows, routes }) {
    const width = (box) => (box.one === null ? 30 : WIDE);
    const mean = ({ above }) => above.reduce((sum, box) => sum + box.x, 0) / (above.length || 1);
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
    return { rows, routes, width: whole, height: rows.length * (HIGH + BETWEEN.y) - BETWEEN.y };
  }

  function drawn(found, state) {
    const { nodes } = found;
    const leaves = ["x", "y"].filter((name) => found[name] !== null);
    const { rows, routes, width, height } = placed(rowsOf(nodes, leaves));
    const lines = routes.map(({ at, i, route }) => {
      const shift = (i - (nodes[at].inputs.length - 1) / 2) * 56;
      const points = route.flatMap((box, n) => {
        const x = box.x + (n === 0 || n === route.length - 1 ? shift : 0);
        const top = [x, box.y - 3];
        const bottom = [x, box.y + HIGH];
        return n === 0 ? [bottom] : n === route.length - 1 ? [top] : [top, bottom];
      });
      const path = points.map(([x, y], n) => {
        if (!n) return `M${x} ${y}`;
        const [before, above] = points[n - 1];
        return `C${before} ${(above + y) / 2} ${x} ${(above + y) / 2} ${x} ${y}`;
      }).join("");
      const step = found.steps.findIndex((one) => one.at === at);
      const passed = step < state.back ? short(found.steps[step].passes[i]) : "";
      const now = step === state.back - 1 && state.back < found.steps.length ? "now" : "";
      const [x, y] = points.at(-1);
      return `<path class="explorer-edge ${now}" d="${path}"/>${passed && `<text class="gradient ${now}"
        x="${x}" y="${y - 8}">${passed}</text>`}`;
    });
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
    return `<div class="explorer-wide" role="region" tabindex="0" aria-label="The graph">
      <svg class="explorer-graph" role="img" aria-label="The graph; the table below has its numbers"
        width="${width + 4}" height="${height + 4}" viewBox="-2 -2 ${width + 4} ${height + 4}">
        ${lines.join("")}${boxes.join("")}</svg></div>`;
  }

  const list = (all) => (all.length > 1 ? `${all.slice(0, -1).join(", ")} and ${all.at(-1)}` : all[0]);

  function savedText({ saved }) {
    return Object.entries(saved).map(([key, { kind, value, of }]) => {
      const about = of ? ` (${short(value)})` : kind === "tensor" ? " (a tensor)" : "";
      return code(`${key}=${of ?? short(value)}`) + about;
    });
  }

  // What one step does, in a sentence.
  function told(found, { forward, back }) {
    const { nodes, steps } = found;
    if (!back) {
      if (!forward) return "Nothing is computed yet: the leaves hold their values.";
      const node = nodes[forward - 1];
      const saved = savedText(node);
      return `Forward ${forward} of ${nodes.length}: ${code(node.made)} is ${short(node.value)}; its node
        ${code(node.name)} saves ${saved.length ? list(saved) : "nothing"}.`;
    }
    const { at, arrives, passes } = steps[back - 1];
    const head = `Backward ${back} of ${steps.length}:`;
    const parts = steps.slice(0, back - 1).flatMap((step) => step.passes.filter((_, i) => (
      nodes[step.at]?.inputs[i] === at))).map(short);
    const sum = parts.length > 1 ? `, the sum of ${list(parts)}` : "";
    if (typeof at === "string") {
      return `${head} ${code(`${at}.grad`)} is <strong>${short(arrives)}</strong>${sum}.`;
    }
    return `${head} ${code(nodes[at].name)} of ${code(nodes[at].label)} receives g = ${
      short(arrives)}${sum && `${sum},`} and passes on ${list(given(found, at, passes))}.`;
  }

  // What a node passes on: the number, how it is made, and where it goes.
  const given = ({ nodes }, at, passes) => nodes[at].inputs.map((to, i) => (
    to === null ? "" : `${short(passes[i])} = ${code(nodes[at].formulas[i])} to ${
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
      ["", "value", "saved", "receives g", "passes on"], rows) : "";
  }

  return {
    fields: {
      program: {
        label: "Expression", rows: 2, hint: "x, y, numbers, + - * / **, exp, log, sin, relu, sigmoid, "
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
      step: { label: "Step", slide: true, hint: "forward, then backward; the arrow keys move it" },
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
    show(state) {
      const needs = state.needs.replace("none", "");
      const found = autograd.answer({ ...state, needs });
      if (found.unread) throw new Unread(found.unread);
      if (found.error) {
        return {
          raises: true, said: `${code(found.line)} raises an error${
            found.value ? `; the value itself is ${short(found.value)}` : ""}.`,
          html: error(found.error) + python(found.code),
        };
      }
      const [forwards, backwards] = [found.nodes.length, found.steps.length];
      const steps = forwards + backwards;
      const at = state.step === "" ? steps : Math.min(+state.step, steps);
      const now = {
        ...state, forward: Math.min(at, forwards), back: Math.max(at - forwards, 0), all: state.step === "",
      };
      const grads = ["x", "y"].map((name) => `${code(`${name}.grad`)} is <strong>${
        found[name] === null ? "None" : short(found[name])}</strong>`);
      const said = now.all ? `The value is <strong>${short(found.value)}</strong>; ${list(grads)}.`
        : told(found, now);
      return {
        said, steps, stepped: at > forwards ? `backward ${at - forwards} of ${backwards}`
          : `forward ${at} of ${forwards}`,
        html: drawn(found, now) + tableOf(found, now) + python(found.code),
      };
    },
  };
})());
