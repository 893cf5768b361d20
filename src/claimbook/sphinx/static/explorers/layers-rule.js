// What a sequence of layers does to a shape: sizes, parameters, multiply-adds, receptive field, or
// torch's error. Pure: a test compares all of it with torch.

const layers = (() => {
  const { product, list, raise, unread, outOfRange, answering, failing } = rule;
  const cross = (sizes, between = " x ") => sizes.join(between);

  const effective = (kernel, dilation) => kernel.map((size, i) => dilation[i] * (size - 1) + 1);

  function checkRank(shape, rank, name) {
    if (shape.length === rank + 1 || shape.length === rank + 2) return;
    raise("RuntimeError", `Expected ${rank + 1}D (unbatched) or ${rank + 2}D (batched) input to ${
      name}, but got input of size: ${list(shape)}`);
  }

  // Without a batch dimension, torch adds one of size 1 before it compares channels.
  function checkChannels(shape, rank, wanted, weight, given) {
    const batched = shape.length === rank + 2 ? shape : [1, ...shape];
    if (batched[1] === wanted) return;
    raise("RuntimeError", `Given ${given}, weight of size ${list(weight)}, expected input${
      list(batched)} to have ${wanted} channels, but got ${batched[1]} channels instead`);
  }

  function checkGroups({ in: from, out, groups }) {
    if (from % groups) raise("ValueError", "in_channels must be divisible by groups");
    if (out % groups) raise("ValueError", "out_channels must be divisible by groups");
  }

  const replaced = (shape, rank, channels, sizes) => (
    [...shape.slice(0, -rank - 1), channels, ...sizes]);

  const convolution = (rank) => (shape, args) => {
    const { in: from, out, kernel, stride, padding, dilation, groups, bias } = args;
    checkGroups(args);
    const same = padding === "same";
    if (same && stride.some((step) => step !== 1)) {
      raise("ValueError", "padding='same' is not supported for strided convolutions");
    }
    checkRank(shape, rank, `conv${rank}d`);
    const weight = [out, from / groups, ...kernel];
    const spatial = shape.slice(-rank);
    const reach = effective(kernel, dilation);
    // Uneven padding is one larger at the end, and done before any other check.
    const seen = same ? spatial.map((size, i) => size + (reach[i] - 1) % 2) : spatial;
    const before = [...shape.slice(0, -rank), ...seen];
    checkChannels(before, rank, from, weight, `groups=${groups}`);
    const padded = spatial.map((size, i) => size + 2 * (same || padding === "valid" ? 0 : padding[i]));
    if (!same && padded.some((size, i) => size < reach[i])) {
      raise("RuntimeError", `Calculated padded input size per channel: (${
        cross(padded)}). Kernel size: (${cross(reach)}). Kernel size can't be greater than actual `
        + "input size");
    }
    const sizes = same ? spatial
      : padded.map((size, i) => Math.floor((size - reach[i]) / stride[i]) + 1);
    const result = replaced(shape, rank, out, sizes);
    return {
      shape: result, parameters: product(weight) + (bias ? out : 0),
      adds: product(result) * product(weight.slice(1)), reach, stride,
      keeps: stride.every((step) => step === 1) && reach.every((size) => size % 2)
        ? reach.map((size) => (size - 1) / 2) : null,
    };
  };

  function transposed(shape, args) {
    const { in: from, out, kernel, stride, padding, dilation, groups, bias, extra } = args;
    checkGroups(args);
    checkRank(shape, 2, "conv_transpose2d");
    const weight = [from, out / groups, ...kernel];
    checkChannels(shape, 2, from, weight, "transposed=1");
    if (extra.some((more, i) => more >= stride[i] && more >= dilation[i])) {
      const pair = (name, [height, width]) => `${name}_height: ${height} ${name}_width: ${width}`;
      raise("RuntimeError", "output padding must be smaller than either stride or dilation, but got "
        + [pair("output_padding", extra), pair("stride", stride), pair("dilation", dilation)].join(" "));
    }
    const spatial = shape.slice(-2);
    const reach = effective(kernel, dilation);
    const sizes = spatial.map((size, i) => (
      (size - 1) * stride[i] - 2 * padding[i] + reach[i] + extra[i]));
    if (sizes.some((size) => size < 1)) {
      unread(`ConvTranspose2d would have an output of (${
        cross(sizes)}), so nothing is left; what torch says to that depends on the machine.`);
    }
    return {
      shape: replaced(shape, 2, out, sizes), parameters: product(weight) + (bias ? out : 0),
      adds: product(shape) * product(weight.slice(1)),
    };
  }

  const pool = (name) => (shape, { kernel, stride, padding, dilation, ceil }) => {
    const rank = shape.length;
    if (name === "MaxPool2d" && rank !== 3 && rank !== 4) {
      raise("RuntimeError", "non-empty 3D or 4D (batch mode) tensor expected for input");
    }
    if (rank < 3) outOfRange(-3, rank);
    const reach = effective(kernel, dilation);
    const spatial = shape.slice(-2);
    const sizes = spatial.map((size, i) => {
      if (padding[i] > Math.floor(reach[i] / 2)) {
        raise("RuntimeError", "pad should be at most half of effective kernel size, but got pad="
          + `${padding[i]}, kernel_size=${kernel[i]} and dilation=${dilation[i]}`);
      }
      const room = size + 2 * padding[i] - reach[i] + (ceil ? stride[i] - 1 : 0);
      const found = Math.floor(room / stride[i]) + 1;
      return found - (ceil && (found - 1) * stride[i] >= size + padding[i] ? 1 : 0);
    });
    if (rank > 4) {
      raise("RuntimeError", "Expected 3D or 4D (batch mode) tensor with optional 0 dim batch size "
        + `for input, but got:${list(shape)}`);
    }
    if (padding.some((pad, i) => pad > Math.floor(kernel[i] / 2))) {
      raise("RuntimeError", "pad should be smaller than or equal to half of kernel size, but got "
        + `padW = ${padding[1]}, padH = ${padding[0]}, kW = ${kernel[1]}, kH = ${kernel[0]}`);
    }
    if (sizes.some((size) => size < 1)) {
      const channels = shape.at(-3);
      raise("RuntimeError", `Given input size: (${cross([channels, ...spatial], "x")}). Calculated `
        + `output size: (${cross([channels, ...sizes], "x")}). Output size is too small`);
    }
    return { shape: [...shape.slice(0, -2), ...sizes], reach, stride };
  };

  function upsample(shape, { scale }) {
    if (shape.length < 3 || shape.length > 5) {
      raise("NotImplementedError", "Input Error: Only 3D, 4D and 5D input Tensors supported (got "
        + `${shape.length}D) for the modes: nearest | linear | bilinear | bicubic | trilinear | `
        + "lanczos | area | nearest-exact (got nearest)");
    }
    return { shape: shape.map((size, dim) => (dim > 1 ? size * scale : size)) };
  }

  function flatten(shape) {
    if (shape.length < 2) outOfRange(1, 1);
    return { shape: [shape[0], product(shape.slice(1))] };
  }

  function linear(shape, { in: from, out, bias }) {
    const last = shape.at(-1);
    const rows = product(shape.slice(0, -1));
    if (last !== from) {
      raise("RuntimeError", "mat1 and mat2 shapes cannot be multiplied ("
        + `${rows}x${last} and ${from}x${out})`);
    }
    return {
      shape: [...shape.slice(0, -1), out], parameters: from * out + (bias ? out : 0),
      adds: rows * from * out,
    };
  }

  function norm(shape, { in: channels }) {
    if (shape.length !== 4) raise("ValueError", `expected 4D input (got ${shape.length}D input)`);
    if (product(shape) === shape[1]) {
      raise("ValueError", "Expected more than 1 value per channel when training, got input size "
        + `torch.Size(${list(shape)})`);
    }
    if (shape[1] !== channels) {
      raise("RuntimeError", `running_mean should contain ${shape[1]} elements not ${channels}`);
    }
    return { shape, parameters: 2 * channels, reach: [1, 1], stride: [1, 1] };
  }

  function adaptivePool(shape, { sizes }) {
    const rank = shape.length;
    if (sizes.length === 2 && rank < 3) raise("ValueError", "Input dimension should be at least 3");
    const mean = sizes.every((size) => size === 1); // torch then does not check the rank
    if (mean && rank < 2) outOfRange(-2, rank);
    if (!mean && rank !== 3 && rank !== 4) {
      raise("RuntimeError",
        `adaptive_avg_pool2d(): Expected 3D or 4D tensor, but got ${list(shape)}`);
    }
    return { shape: [...shape.slice(0, -2), sizes[0], sizes.at(-1)] };
  }

  function dropout(shape, { p }) {
    if (p > 1) raise("ValueError", `dropout probability has to be between 0 and 1, but got ${p}`);
    return same(shape);
  }

  const same = (shape) => ({ shape, keepsField: true });

  // The arguments in torch's order: [name here, torch's name, default]; required without a default.
  const CONV = [["in", "in_channels"], ["out", "out_channels"], ["kernel", "kernel_size"],
    ["stride", "stride", 1], ["padding", "padding", 0]];
  const convolved = (rank) => [convolution(rank), rank, [...CONV, ["dilation", "dilation", 1],
    ["groups", "groups", 1], ["bias", "bias", true]]];
  const KINDS = {
    Conv1d: convolved(1), Conv2d: convolved(2), Conv3d: convolved(3),
    ConvTranspose2d: [transposed, 2, [...CONV, ["extra", "output_padding", 0],
      ["groups", "groups", 1], ["bias", "bias", true], ["dilation", "dilation", 1]]],
    MaxPool2d: [pool("MaxPool2d"), 2, [["kernel", "kernel_size"], ["stride", "stride", null],
      ["padding", "padding", 0], ["dilation", "dilation", 1], [null, "return_indices", false],
      ["ceil", "ceil_mode", false]]],
    AvgPool2d: [pool("AvgPool2d"), 2, [["kernel", "kernel_size"], ["stride", "stride", null],
      ["padding", "padding", 0], ["ceil", "ceil_mode", false]]],
    AdaptiveAvgPool2d: [adaptivePool, 0, [["sizes", "output_size"]]],
    Upsample: [upsample, 0, [[null, "size", null], ["scale", "scale_factor"]]],
    Flatten: [flatten, 0, []],
    Linear: [linear, 0, [["in", "in_features"], ["out", "out_features"], ["bias", "bias", true]]],
    BatchNorm2d: [norm, 0, [["in", "num_features"]]],
    Dropout: [dropout, 0, [["p", "p", 0.5]]],
    ReLU: [same, 0, []], GELU: [same, 0, []], Tanh: [same, 0, []], Sigmoid: [same, 0, []],
  };
  const PER_DIMENSION = ["kernel", "stride", "padding", "dilation", "extra"];
  const FROM_ZERO = ["padding", "extra", "p"];

  function value(text) {
    if (/^(True|False)$/.test(text)) return text === "True";
    if (text === "None") return null;
    if (/^["'](same|valid)["']$/.test(text)) return text.slice(1, -1);
    if (/^(\d+\.?\d*|\.\d+)$/.test(text)) return Number(text);
    const tuple = text.match(/^[([]\s*(\d+(?:\s*,\s*\d+)*)\s*,?\s*[)\]]$/);
    if (!tuple) unread(`“${text}” is not an argument that this explorer can read.`);
    return tuple[1].split(",").map(Number);
  }

  // An argument as its layer reads it; one number is used for all dimensions of an image.
  function checked(name, [own, word, usual], one) {
    const [, rank] = KINDS[name];
    const wrong = (text) => unread(`${name}: ${word} ${text}.`);
    if (one === undefined) wrong("is missing");
    if (typeof usual === "boolean") return typeof one === "boolean" ? one : wrong("is True or False");
    if (own === "padding" && typeof one === "string" && /^Conv\d/.test(name)) return one;
    const numbers = [one].flat();
    const least = FROM_ZERO.includes(own) ? 0 : 1;
    const fits = (number) => number >= least && (Number.isInteger(number) || own === "p");
    if (!numbers.every(fits)) wrong(`is a whole number, ${least} or more`);
    if (own === "sizes") return !Array.isArray(one) || one.length === 2 ? numbers : wrong("is one number or two");
    if (!PER_DIMENSION.includes(own)) return Array.isArray(one) ? wrong("is one number") : one;
    if (!Array.isArray(one)) return Array(rank).fill(one);
    return one.length === rank ? one : wrong("is one number, or one for each dimension");
  }

  function given(name, inner) {
    const [,, signature] = KINDS[name];
    const found = {};
    const parts = inner.match(/(?:[^,()[\]]|[([][^)\]]*[)\]])+/g) ?? [];
    for (const [at, part] of parts.map((one) => one.trim()).filter(Boolean).entries()) {
      const [, word, text] = part.match(/^(?:(\w+)\s*=\s*)?(.*)$/s);
      const known = word ? signature.find(([, own]) => own === word) : signature[at];
      if (!known?.[0]) unread(`${name}: “${part}” is not an argument that this explorer can read.`);
      found[known[0]] = value(text);
    }
    const args = {};
    for (const parameter of signature.filter(([key]) => key)) {
      const [own,, usual] = parameter;
      const one = found[own] ?? usual;
      args[own] = checked(name, parameter, own === "stride" && one === null ? args.kernel : one);
    }
    return /(Max|Avg)Pool2d$/.test(name) ? { dilation: [1, 1], ...args } : args;
  }

  // Python code, in an nn.Sequential(…) or not → [{ line, name, args }]
  function parse(text) {
    const found = [];
    let rest = text.replace(/#.*$/gm, "").replace(/^\s*\w+\s*=\s*(?=\w)/, "")
      .replace(/^\s*(torch\.)?(nn\.)?Sequential\(/, "");
    while ((rest = rest.replace(/^[\s,)]+/, ""))) { // Sequential's bracket may be anywhere
      const called = rest.match(/^(?:torch\.)?(?:nn\.)?(\w+)\(((?:[^()]|\([^()]*\))*)\)/);
      if (!called || !(called[1] in KINDS)) {
        unread(`“${rest.split("\n")[0]}” is not a layer of this explorer: ${
          Object.keys(KINDS).join(", ")}.`);
      }
      const [all, name, inner] = called;
      found.push({ line: `${name}(${inner.trim()})`, name, args: given(name, inner) });
      rest = rest.slice(all.length);
    }
    return found;
  }

  // The first argument with which the layer would accept the shape.
  function cure(shape, name, args) {
    const wanted = { Linear: -1, Conv1d: -2, Conv2d: -3, Conv3d: -4, ConvTranspose2d: -3, BatchNorm2d: -3 }[name];
    if (wanted === undefined || !(shape.at(wanted) >= 1)) return null;
    const attempt = answering(failing(KINDS[name][0]));
    return attempt(shape, { ...args, in: shape.at(wanted) }).shape ? shape.at(wanted) : null;
  }

  function followed(start, asked) {
    const code = `x = torch.empty(${start.join(", ")})\nmodel = nn.Sequential(\n${
      asked.map(({ line }) => `    nn.${line},\n`).join("")})\nmodel(x).shape`;
    let shape = start;
    let field = null; // for each dimension of an image: receptive field, and distance between steps
    let lost = false;
    const steps = [];
    for (const { line, name, args } of asked) {
      const next = failing(KINDS[name][0])(shape, args);
      if (next.error) return { steps, code, line, error: next.error, cure: cure(shape, name, args) };
      lost ||= Boolean(next.reach && field && next.reach.length !== field.length);
      if (next.reach && !lost) {
        field ??= next.reach.map(() => ({ size: 1, apart: 1 }));
        field = field.map(({ size, apart }, i) => ({
          size: size + (next.reach[i] - 1) * apart, apart: apart * next.stride[i],
        }));
      } else if (!next.keepsField) lost = true;
      shape = next.shape;
      steps.push({
        line, shape, parameters: next.parameters ?? 0, adds: next.adds ?? 0,
        field: lost || !field ? null : field.map(({ size }) => size), keeps: next.keeps ?? null,
      });
    }
    const total = (what) => steps.reduce((sum, step) => sum + step[what], 0);
    return { steps, code, shape, parameters: total("parameters"), adds: total("adds") };
  }

  return { answer: answering((start, text) => followed(start, parse(text))) };
})();
