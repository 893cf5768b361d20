// The explorer of sizes through layers: shows the answers of layers-rule.js as a table.

explorers.start("layers", (() => {
  const { table, code, list, readable, unread } = explorers;
  const number = (count) => (count ? count.toLocaleString("en") : "");

  const remark = (text) => `<br><small>${text}</small>`;

  // Hints: a padding that keeps the sizes, or the sizes with the other ceil_mode.
  function note({ line, keeps, shape }, before) {
    if (keeps) {
      const padding = new Set(keeps).size === 1 ? keeps[0] : `(${keeps.join(", ")})`;
      return remark(`${code(`padding=${padding}`)} keeps the sizes`);
    }
    if (!/Pool2d/.test(line)) return "";
    const mode = `ceil_mode=${/ceil_mode\s*=\s*True/.test(line) ? "False" : "True"}`;
    const bare = line.replace(/,?\s*ceil_mode\s*=\s*\w+/, "");
    const other = layers.answer(before, bare.replace(/\)$/, `, ${mode})`)).shape;
    return other && list(other) !== list(shape) ? remark(`${code(mode)}: ${list(other)}`) : "";
  }

  // Hints: a first argument, or an input, with which the layer would run.
  function cure({ line, cure: channels }, came) {
    if (channels !== null) {
      const cured = line.replace(/\(\s*(\w+\s*=\s*)?\d+/, (all) => all.replace(/\d+$/, channels));
      const flat = line.startsWith("Linear") && came.length > 2
        ? ` To use all numbers of a sample, put ${code("Flatten()")} before it.` : "";
      return `<p>${code(cured)} would accept ${list(came)}.${flat}</p>`;
    }
    const first = line.startsWith("Conv") ? Number(line.match(/\(\D*(\d+)/)[1]) : 1;
    const more = [first, ...came];
    return layers.answer(more, line).shape
      ? `<p>${list(more)}, with channels in front, would be accepted.</p>` : "";
  }

  function layerByLayer(found, shape) {
    const rows = [
      [code("input"), list(shape), "", "", ""],
      ...found.steps.map((step, at) => [
        code(step.line), list(step.shape) + note(step, found.steps[at - 1]?.shape ?? shape),
        step.field ? step.field.join(" × ") : "–", number(step.parameters), number(step.adds),
      ]),
    ];
    if (found.error) rows.push([code(found.line), "raises an error", "", "", ""]);
    else rows.push(["total", list(found.shape), "", number(found.parameters), number(found.adds)]);
    return table("Layer by layer",
      ["", "output", "receptive field", "parameters", "multiply-adds"], rows, "stacked");
  }

  return {
    fields: {
      input: { label: "Shape of the input", hint: "batch, channels, height, width; the batch is optional" },
      layers: { label: "Layers", rows: 6, hint: "as in nn.Sequential, one after the other" },
    },
    tools: {
      field: "layers",
      at: ({ input, layers: typed }) => {
        const shape = explorers.shape(input.value, "Shape of the input");
        const { steps = [] } = layers.answer(shape, typed.value);
        return [1, 1, 1, ...(steps.at(-1)?.shape ?? shape)]; // 1 for missing dimensions
      },
      lines: {
        Conv1d: (shape) => `Conv1d(${shape.at(-2)}, 16, 3)`,
        Conv2d: (shape) => `Conv2d(${shape.at(-3)}, 16, 3, padding=1)`,
        ConvTranspose2d: (shape) => `ConvTranspose2d(${shape.at(-3)}, 16, 2, stride=2)`,
        MaxPool2d: () => "MaxPool2d(2)",
        AvgPool2d: () => "AvgPool2d(2)",
        Upsample: () => "Upsample(scale_factor=2)",
        BatchNorm2d: (shape) => `BatchNorm2d(${shape.at(-3)})`,
        ReLU: () => "ReLU()",
        Flatten: () => "Flatten()",
        Linear: (shape) => `Linear(${shape.at(-1)}, 10)`,
      },
    },
    examples: {
      "a small classifier": { input: "8, 1, 28, 28", layers: "Conv2d(1, 16, 3, padding=1)\nReLU()\n"
        + "MaxPool2d(2)\nConv2d(16, 32, 3)\nReLU()\nMaxPool2d(2)\nFlatten()\nLinear(1152, 10)" },
      "Flatten is missing": { input: "8, 3, 32, 32",
        layers: "Conv2d(3, 8, 3)\nMaxPool2d(2)\nLinear(1800, 10)" },
      "channels last": { input: "8, 32, 32, 3", layers: "Conv2d(3, 16, 3)" },
      "too small for the kernel": { input: "8, 3, 8, 8", layers:
        "Conv2d(3, 8, 3)\nMaxPool2d(2)\nConv2d(8, 16, 5)" },
      "down and up again": { input: "1, 3, 64, 64", layers: "Conv2d(3, 16, 3, stride=2, padding=1)\n"
        + "ConvTranspose2d(16, 3, 3, stride=2, padding=1, output_padding=1)" },
      "ceil_mode": { input: "1, 3, 112, 112", layers: "MaxPool2d(3, stride=2, ceil_mode=True)" },
      "a sequence": { input: "8, 4, 100", layers: "Conv1d(4, 8, 5, dilation=2)\nReLU()\n"
        + "Conv1d(8, 8, 5, dilation=4)" },
    },
    show(state) {
      const shape = explorers.shape(state.input, "Shape of the input", { most: 9999 });
      if (!shape.length || shape.includes(0)) unread("The input needs sizes of at least 1.");
      const found = readable(layers.answer(shape, state.layers));
      const steps = layerByLayer(found, shape);
      if (found.error) {
        const came = found.steps.at(-1)?.shape ?? shape;
        return {
          said: `${code(found.line)} raises an error; its input has the shape ${list(came)}.`,
          error: found.error, html: cure(found, came) + steps, code: found.code,
        };
      }
      return {
        said: `The output has the shape <strong>${list(found.shape)}</strong>; ${
          number(found.parameters) || "no"} parameters, ${number(found.adds) || "no"} multiply-adds.`,
        html: steps, code: found.code,
      };
    },
  };
})());
