// The explorer of storage, strides and views: shows the answers of strides-rule.js as cells.

explorers.start("strides", (() => {
  const { table, grid, code, bytes, product, list, tuple, readable, unread } = explorers;
  const MOST = 120; // most numbers shown

  // A table with a row per step, describing its tensor.
  function stepByStep(found) {
    const row = (line, { shape, stride, offset, contiguous }, memory) => [
      code(line), list(shape), code(tuple(stride)), String(offset), contiguous ? "yes" : "no", memory,
    ];
    const rows = [
      row("x", found.start, "new"),
      ...found.steps.map((step) => row(step.line, step, step.copies ? "copies" : "same storage")),
    ];
    if (found.error) rows.push([code(found.line), "raises an error", "", "", "", ""]);
    return table("Step by step", ["", "shape", "strides", "offset", "contiguous", "memory"], rows,
      "stacked");
  }

  // The numbers of the last tensor, the storage, and what the chosen index reads.
  function picture(found, label, typed) {
    const last = found.steps.at(-1) ?? found.start;
    const all = explorers.indices(last.shape);
    if (all.length > 2 * MOST) return `<p>Its ${all.length} numbers are not shown.</p>`;
    const asked = typed.trim().replace(/^x?\[|\]$/g, "").split(",").filter((part) => part.trim());
    const wanted = asked.map((i, dim) => (i < 0 ? +i + last.shape[dim] : +i));
    const at = asked.length ? all.findIndex((index) => String(index) === String(wanted)) : all.length - 1;
    const terms = all[at]?.map((i, dim) => `${i} · ${last.stride[dim]}`) ?? [];
    const reads = all[at] ? `Index ${code(list(all[at]))} reads position ${
      [last.offset, ...terms].join(" + ")}${terms.length ? ` = ${found.positions[at]}` : ""}.`
      : `The tensor has no number at index ${code(list(asked))}.`;
    const cell = (i) => `data-field="index" data-key="cell-${i}" data-pick="${all[i].join(", ")}"
      title="index ${list(all[i])}" aria-pressed="${i === at}" tabindex="${i === Math.max(at, 0) ? 0 : -1}"`;
    const read = new Set(found.positions);
    const storage = found.storage.map((value, position) => {
      const kind = position === found.positions[at] ? "chosen" : read.has(position) ? "read" : "";
      return `<li class="${kind}"><span>${position}</span>${value}</li>`;
    });
    const whose = found.steps.some((step) => step.copies) ? "The new storage" : "The storage of x";
    return `${all.length ? `${grid(label, last.shape, found.values, cell)}<p>${reads}</p>` : ""}
      <p class="explorer-caption">${whose}: ${bytes(found.held)} in int64, ${read.size} of ${
      found.storage.length} numbers read</p>
      <ol class="explorer-storage" aria-label="Storage: position and number">${storage.join("")}</ol>`;
  }

  // The input of the step that raises an error, and why a view of it is impossible.
  function refused(found, shape, typed) {
    const given = strides.answer(shape, found.steps.map(({ line }) => line).join(""));
    const order = given.positions.slice(0, 12).join(", ") + (given.positions.length > 12 ? ", …" : "");
    const why = found.copy === null ? "" : `<p>In their order the numbers stand at the positions ${
      order} of the storage. No strides of the new shape visit these in this order; ${
      code(found.line.replace("view", "reshape"))} would copy ${bytes(found.copy)}.</p>`;
    return {
      said: `${code(found.line)} raises an error.`,
      error: found.error, code: found.code,
      html: why + picture(given, `before ${found.line}`, typed) + stepByStep(found),
    };
  }

  return {
    fields: {
      shape: { label: "Shape of x", hint: "x = torch.arange(n).view(shape)" },
      index: { label: "Index of the result", hint: "for example 1, 0; or choose a number below" },
      steps: { label: "Steps", rows: 3, hint: "as in Python: x.t().view(6), or one step per line" },
    },
    tools: {
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
      const shape = explorers.shape(state.shape, "Shape of x");
      const count = product(shape);
      if (count > MOST) unread(`Up to ${MOST} numbers are shown; this shape has ${count}.`);
      const found = readable(strides.answer(shape, state.steps));
      if (found.error) return refused(found, shape, state.index);
      const last = found.steps.at(-1) ?? found.start;
      const copied = found.steps.some((step) => step.copies);
      const flat = found.viewable ? "Flattening it copies nothing, so view(-1) works."
        : `view(-1) would raise an error; reshape(-1) would copy ${bytes(found.bytes)}.`;
      return {
        said: `The result has the shape <strong>${list(last.shape)}</strong> and strides ${
          code(tuple(last.stride))}. ${copied ? "It was copied and no longer shares the storage of x."
          : "It reads the storage of x; nothing was copied."} ${product(last.shape) ? flat : ""}`,
        html: picture(found, "result", state.index) + stepByStep(found), code: found.code,
      };
    },
  };
})());
