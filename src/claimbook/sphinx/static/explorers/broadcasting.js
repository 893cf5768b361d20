// The explorer of broadcasting: shows the answers of broadcasting-rule.js as tables.

explorers.start("broadcasting", (() => {
  const { table, grid, code, bytes, product, list, tuple, unread } = explorers;
  const added = '<span class="added">(1)</span>';

  // A table with a row per operand, whose dimensions stand below each other.
  function aligned(names, shapes, rank, cell, result = []) {
    const rows = broadcasting.aligned(shapes, rank).map((sizes, i) => [code(names[i]), ...sizes.map(cell)]);
    const heads = Array.from({ length: rank }, (_, dim) => `dim ${dim}`);
    return table("Aligned from the right", ["", ...heads], [...rows, ...result], "aligned");
  }

  // Where the shapes do not fit, and what would make them fit.
  function clash(found, names, shapes) {
    const rank = Math.max(...shapes.map((sizes) => sizes.length));
    const right = shapes[found.at.split(" + ").length - 1];
    const at = +found.error.match(/dimension (\d+)$/)[1] + rank - Math.max(found.left.length, right.length);
    const cell = (size, dim) => (
      dim === at ? `<strong class="clash">${size ?? added}</strong>` : String(size ?? added));
    const cured = names.slice(0, 2).map((name) => (
      found.advice.startsWith(`${name}.`) ? found.advice : name));
    const cure = found.advice && `<p>With a size of 1 inserted they fit:
      ${code(cured.join(" + "))}.</p>`;
    return {
      said: `${code(found.at)} raises an error: the sizes in dim ${at} differ, and neither is 1.`,
      error: found.error, html: cure + aligned(names, shapes, rank, cell), code: found.code,
    };
  }

  // The sum in numbers, if they are few.
  function summed({ shape, values }, names, shapes) {
    if (!values?.length) return "";
    const operands = shapes.map((sizes, i) => {
      const numbers = Array.from({ length: product(sizes) },
        (_, n) => broadcasting.number(i, n, shapes.length));
      return grid(names[i], sizes, numbers);
    });
    const sum = shape.length > 2 ? `(${names.join(" + ")})` : names.join(" + ");
    return `<div class="explorer-sum">${operands.join("<span>+</span>")}<div class="explorer-sum"><span>=</span>${
      grid(sum, shape, values)}</div></div>`;
  }

  function memory({ operands }, names) {
    const rows = operands.map((operand, i) => [
      code(names[i]), bytes(operand.bytes), code(tuple(operand.strides)),
      operand.notCopied > 0 ? bytes(operand.notCopied) : "nothing is repeated",
    ]);
    return table("Memory in float32",
      ["", "holds", "strides in the result’s shape", "repeated without a copy"], rows, "stacked");
  }

  return {
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
      const names = ["a", "b", "c"].filter((name) => state[name].trim());
      if (!names.includes("a") || !names.includes("b")) {
        unread("Type two shapes, a and b, for example 4, 1 and 3.");
      }
      const shapes = names.map((name) => explorers.shape(state[name], `Shape of ${name}`));
      const found = broadcasting.answer(shapes);
      if (found.error) return clash(found, names, shapes);
      const { shape } = found;
      const cell = (size, dim) => (size === shape[dim] ? String(size)
        : `<span class="stretched">${size ?? added} → ${shape[dim]}</span>`);
      return {
        said: `${code(names.join(" + "))} has the shape <strong>${list(shape)}</strong>, ${
          bytes(found.bytes)} in float32.${
          found.grows ? " It is larger than each of the operands." : ""}`,
        html: aligned(names, shapes, shape.length, cell, [["result", ...shape.map(String)]])
          + summed(found, names, shapes) + memory(found, names),
        code: found.code,
      };
    },
  };
})());
