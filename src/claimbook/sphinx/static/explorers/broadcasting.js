// The explorer of broadcasting: shows the answers of broadcasting-rule.js as tables.

explorers.start("broadcasting", {
  fields: {
    a: { label: "Shape of a", hint: "sizes with commas; () is a single number" },
    b: { label: "Shape of b" },
    c: { label: "Shape of c", hint: "optional" },
  },
  examples: {
    "a column and a row": { a: "4, 1", b: "3" },
    "one bias per channel": { a: "2, 3, 2, 2", b: "3, 1, 1" },
    "one number per row": { a: "4, 3", b: "4" },
    "predictions and targets": { a: "3, 1", b: "3" },
    "three shapes": { a: "3, 1, 1", b: "2, 1", c: "2" },
    "a size of 0": { a: "4, 1", b: "0" },
  },
  show(state) {
    const { table, grid, python, code, error, bytes, product, list, tuple } = explorers;
    const typed = ["a", "b", "c"].filter((name) => state[name].trim());
    if (!typed.includes("a") || !typed.includes("b")) {
      explorers.unread("Type two shapes, a and b, for example 4, 1 and 3.");
    }
    const shapes = typed.map((name) => explorers.shape(state[name], `Shape of ${name}`));
    const found = broadcasting.answer(shapes);
    const align = (all, rank, cell) => broadcasting.aligned(all, rank).map((sizes, i) => (
      [code(typed[i]), ...sizes.map((size, dim) => cell(size, dim))]));
    const heads = (rank) => ["", ...Array.from({ length: rank }, (_, dim) => `dim ${dim}`)];

    if (found.error) {
      const rank = Math.max(...shapes.map((sizes) => sizes.length));
      const at = +found.error.match(/dimension (\d+)$/)[1] + rank
        - Math.max(found.left.length, shapes[found.at.split(" + ").length - 1].length);
      const rows = align(shapes, rank, (size, dim) => {
        const shown = size ?? '<span class="added">(1)</span>';
        return dim === at ? `<strong class="clash">${shown}</strong>` : String(shown);
      });
      const cure = found.advice && `<p>With a size of 1 inserted they fit:
        ${code(`${typed.slice(0, 2).map((n) => (
          found.advice.startsWith(`${n}.`) ? found.advice : n)).join(" + ")}`)}.</p>`;
      return {
        raises: true,
        said: `${code(found.at)} raises an error: the sizes in dim ${at} differ, and neither is 1.`,
        html: error(found.error) + cure
          + table("Aligned from the right", heads(rank), rows, "aligned") + python(found.code),
      };
    }
    const { shape } = found;
    const rows = align(shapes, shape.length, (size, dim) => {
      if (size === shape[dim]) return String(size);
      const own = size === null ? '<span class="added">(1)</span>' : String(size);
      return `<span class="stretched">${own} → ${shape[dim]}</span>`;
    });
    const result = ["result", ...shape.map(String)];
    const memory = found.operands.map((operand, i) => [
      code(typed[i]), bytes(operand.bytes), code(tuple(operand.strides)),
      operand.notCopied > 0 ? bytes(operand.notCopied) : "nothing is repeated",
    ]);
    const operands = shapes.map((sizes, i) => {
      const numbers = Array.from({ length: product(sizes) },
        (_, n) => broadcasting.number(i, n, shapes.length));
      return grid(typed[i], sizes, numbers);
    });
    const sum = typed.join(" + ");
    return {
      said: `${code(sum)} has the shape <strong>${list(shape)}</strong>, ${bytes(found.bytes)} in
        float32.${found.grows ? " It is larger than each of the operands." : ""}`,
      html: table("Aligned from the right", heads(shape.length), [...rows, result], "aligned")
        + (found.values?.length
          ? `<div class="explorer-sum">${operands.join("<span>+</span>")}<div class="explorer-sum"><span>=</span>${
            grid(shape.length > 2 ? `(${sum})` : sum, shape, found.values)}</div></div>` : "")
        + table("Memory in float32",
          ["", "holds", "strides in the result’s shape", "repeated without a copy"], memory, "stacked")
        + python(found.code),
    };
  },
});
