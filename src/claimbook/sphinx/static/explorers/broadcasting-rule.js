// torch's answer to a + b (+ c) for given shapes. Pure: a test compares all of it with torch.

const broadcasting = (() => {
  const NAMES = ["a", "b", "c"];
  const MOST = 60; // most numbers shown one by one
  const BYTES = 4; // of a float32
  const { product: count, tuple } = rule;

  // Two shapes → their broadcast shape, or torch's error.
  function pair(a, b) {
    const rank = Math.max(a.length, b.length);
    const shape = Array(rank);
    for (let dim = rank - 1; dim >= 0; dim--) {
      const [left, right] = [a, b].map((sizes) => sizes[dim - rank + sizes.length] ?? 1);
      if (left !== right && left !== 1 && right !== 1) {
        return { error: `RuntimeError: The size of tensor a (${left}) must match the size of `
          + `tensor b (${right}) at non-singleton dimension ${dim}` };
      }
      shape[dim] = left === 1 ? right : left;
    }
    return { shape };
  }

  // Strides of a row-major operand after expand(); 0 where it is stretched.
  function strides(sizes, shape) {
    const missing = shape.length - sizes.length;
    const steps = Array(shape.length).fill(0);
    let step = 1;
    for (let dim = shape.length - 1; dim >= 0 && sizes.length; dim--) {
      const size = sizes[dim - missing] ?? 1;
      const beside = dim < missing ? shape[dim + 1] * steps[dim + 1] : step;
      steps[dim] = size === shape[dim] ? beside : 0;
      step *= Math.max(size, 1);
    }
    return steps;
  }

  // The n-th number of operand i: 1, 2, 3, … times 10 for each operand after it.
  const number = (i, n, all) => (n + 1) * 10 ** (all - 1 - i);

  function values(shapes, shape) {
    const steps = shapes.map((sizes) => strides(sizes, shape));
    return Array.from({ length: count(shape) }, (_, flat) => {
      let rest = flat;
      const places = steps.map(() => 0);
      for (let dim = shape.length - 1; dim >= 0; dim--) {
        const index = rest % shape[dim];
        rest = (rest - index) / shape[dim];
        steps.forEach((step, i) => { places[i] += index * step[dim]; });
      }
      return places.reduce((sum, place, i) => sum + number(i, place, shapes.length), 0);
    });
  }

  // Where to insert a size of 1 into the shape of lower rank, or several at its end, to make both fit.
  function advice([a, b]) {
    const [name, short, long] = a.length < b.length ? ["a", a, b] : ["b", b, a];
    if (short.length === long.length) return "";
    for (let dim = 1; dim <= short.length; dim++) {
      if (pair([...short.slice(0, dim), 1, ...short.slice(dim)], long).shape) {
        return `${name}.unsqueeze(${dim})`;
      }
    }
    for (let more = 2; short.length && short.length + more <= long.length; more++) {
      const shape = [...short, ...Array(more).fill(1)];
      if (pair(shape, long).shape) return `${name}.view(${shape.join(", ")})`;
    }
    return "";
  }

  function answer(shapes) {
    const names = NAMES.slice(0, shapes.length);
    const code = shapes.map((sizes, i) => `${names[i]} = torch.zeros(${tuple(sizes)})\n`).join("")
      + names.join(" + ");
    let shape = shapes[0];
    for (const [i, sizes] of shapes.entries()) {
      const { shape: common, error } = pair(shape, sizes);
      if (error) {
        const at = `${names.slice(0, i).join(" + ")} + ${names[i]}`;
        return { code, error, at, left: shape, advice: shapes.length === 2 ? advice(shapes) : "" };
      }
      shape = common;
    }
    const bytes = count(shape) * BYTES;
    const operands = shapes.map((sizes) => ({
      strides: strides(sizes, shape),
      bytes: count(sizes) * BYTES,
      notCopied: bytes - count(sizes) * BYTES,
    }));
    const largest = Math.max(...shapes.map(count));
    return {
      code, shape, bytes, operands, grows: count(shape) > largest,
      values: count(shape) <= MOST ? values(shapes, shape) : null,
    };
  }

  // Each operand's sizes, one for each dimension of the result; null where it has none.
  function aligned(shapes, rank) {
    return shapes.map((sizes) => Array.from({ length: rank }, (_, dim) => (
      sizes[dim - rank + sizes.length] ?? null)));
  }

  return { answer, aligned, number };
})();
