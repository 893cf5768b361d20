// The explorer of storage, strides and views: what strides-rule.js answers, as rows of cells.

explorers.start("strides", {
  fields: {
    shape: { label: "Shape of x", hint: "x = torch.arange(n).view(shape)" },
    index: { label: "An index of the result", hint: "or click a number; empty is the last" },
    steps: { label: "Steps", rows: 3, hint: "as Python has them, one after the other" },
  },
  tools: {
    label: "Add",
    field: "steps",
    at: ({ shape, steps }) => {
      const { start, steps: done = [] } = strides.answer(explorers.shape(shape.value, "x"), steps.value);
      return (done.at(-1) ?? start)?.shape.length ?? 1;
    },
    lines: {
      transpose: () => ".transpose(0, 1)",
      permute: (rank) => `.permute(${[...Array(rank).keys()].reverse().join(", ")})`,
      slice: (rank) => (rank > 1 ? "[:, 1:]" : "[1:]"),
      step: (rank) => (rank > 1 ? "[:, ::2]" : "[::2]"),
      unsqueeze: () => ".unsqueeze(0)",
      expand: (rank) => `.expand(2, ${Array(rank).fill(-1).join(", ")})`,
      view: () => ".view(-1)",
      reshape: () => ".reshape(-1)",
      contiguous: () => ".contiguous()",
    },
  },
  examples: {
    "transpose, then view": { shape: "3, 4", steps: ".t()\n.view(12)" },
    "transpose, then reshape": { shape: "3, 4", steps: ".t()\n.reshape(12)" },
    "split a transposed dimension": { shape: "3, 4", steps: ".t()\n.view(2, 2, 3)" },
    "every second column": { shape: "3, 4", steps: "[:, ::2]\n.view(6)" },
    "middle columns": { shape: "3, 4", steps: "[:, 1:3]\n.view(6)" },
    "one row, expanded": { shape: "1, 4", steps: ".expand(3, 4)" },
    "split heads": { shape: "2, 3, 4", steps: ".view(2, 3, 2, 2)\n.transpose(1, 2)\n.reshape(2, 3, 4)" },
  },
  show(state) {
    const { table, grid, python, code, error, bytes, product, list, tuple, Unread } = explorers;
    const MOST = 120;
    const shape = explorers.shape(state.shape, "Shape of x");
    const count = product(shape);
    if (count > MOST) throw new Unread(`Up to ${MOST} numbers are shown; this shape has ${count}.`);
    const found = strides.answer(shape, state.steps);
    if (found.unread) throw new Unread(found.unread);

    const row = (line, { shape: sizes, stride, offset, contiguous }, memory) => [
      code(line), list(sizes), code(tuple(stride)), String(offset), contiguous ? "yes" : "no", memory,
    ];
    const rows = [
      row("x", found.start, "new"),
      ...found.steps.map((step) => row(step.line, step, step.copies ? "copies" : "same storage")),
    ];
    if (found.error) rows.push([code(found.line), "raises an error", "", "", "", ""]);
    const steps = table("Step by step",
      ["", "shape", "strides", "offset", "contiguous", "memory"], rows);

    if (found.error) {
      const copy = found.copy === null ? ""
        : `<p>${code(found.line.replace("view", "reshape"))} would copy ${bytes(found.copy)}.</p>`;
      return {
        raises: true,
        said: `${code(found.line)} raises an error.`,
        html: error(found.error) + copy + steps + python(found.code),
      };
    }

    const last = found.steps.at(-1) ?? found.start;
    const all = explorers.indices(last.shape);
    const copies = found.steps.filter((step) => step.copies).length;
    const flat = found.viewable ? "Flattening it copies nothing, so view(-1) works."
      : `view(-1) would raise an error; reshape(-1) would copy ${bytes(found.bytes)}.`;
    const said = `The result has the shape <strong>${list(last.shape)}</strong> and strides
      ${code(tuple(last.stride))}; ${copies ? "it was copied, so it no longer shares the storage of x"
        : "it reads the storage of x, and nothing was copied"}. ${all.length ? flat : ""}`;

    if (all.length > 2 * MOST) {
      return { said, html: `<p>Its ${all.length} numbers are not shown.</p>${steps}${python(found.code)}` };
    }
    const typed = state.index.trim().replace(/^x?\[|\]$/g, "").split(",").filter((part) => part.trim());
    const numbers = typed.map(Number);
    const at = typed.length ? all.findIndex((index) => String(index) === String(numbers))
      : all.length - 1;
    const chosen = all[at];
    const terms = chosen?.map((i, dim) => `${i} · ${last.stride[dim]}`) ?? [];
    const reads = chosen ? `<p>Index ${code(list(chosen))} reads position ${
      [last.offset, ...terms].join(" + ")}${terms.length ? ` = ${found.positions[at]}` : ""}.</p>`
      : `<p>The result has no index ${code(list(typed))}.</p>`;

    const read = new Set(found.positions);
    const storage = found.storage.map((value, position) => {
      const kind = position === found.positions[at] ? "chosen" : read.has(position) ? "read" : "";
      return `<li class="${kind}"><span>${position}</span>${value}</li>`;
    });
    const cell = (i) => `data-pick="${all[i].join(", ")}"${i === at ? ' class="chosen"' : ""}`;
    const held = `${bytes(found.held)} in int64, ${read.size} of ${found.storage.length} numbers read`;
    return {
      said,
      html: (all.length ? grid("result", last.shape, found.values, cell) + reads : "")
        + `<p class="explorer-caption">${copies ? "The new storage" : "The storage of x"}: ${held}</p>
          <ol class="explorer-storage" aria-label="Storage: position and number">${storage.join("")}</ol>
          ${steps}${python(found.code)}`,
    };
  },
});
