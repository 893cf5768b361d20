// What a sequence of steps does to x = torch.arange(n).view(shape): the storage, and how it is read.
// Pure: a test compares all of it with torch.

const strides = (() => {
  const BYTES = 8; // of an int64
  const { product, list, raise, unread, outOfRange, answering, failing } = rule;

  function wrap(dim, rank) {
    const most = Math.max(rank, 1);
    if (dim < -most || dim >= most) outOfRange(dim, most);
    return dim < 0 ? dim + most : dim;
  }

  function rowMajor(shape) {
    const steps = Array(shape.length);
    let step = 1;
    for (let dim = shape.length - 1; dim >= 0; dim--) {
      steps[dim] = step;
      step *= Math.max(shape[dim], 1);
    }
    return steps;
  }

  function isContiguous({ shape, stride }) {
    if (product(shape) === 0) return true;
    let step = 1;
    for (let dim = shape.length - 1; dim >= 0; dim--) {
      if (shape[dim] === 1) continue;
      if (stride[dim] !== step) return false;
      step *= shape[dim];
    }
    return true;
  }

  // The storage positions of all elements, in index order.
  function positions({ shape, stride, offset }) {
    let found = [offset];
    shape.forEach((size, dim) => {
      const steps = Array.from({ length: size }, (_, i) => i * stride[dim]);
      found = found.flatMap((place) => steps.map((step) => place + step));
    });
    return found;
  }

  const values = (x) => positions(x).map((place) => x.storage[place]);

  const copied = (x, shape = x.shape) => ({
    storage: values(x), shape, stride: rowMajor(shape), offset: 0, shares: false,
  });

  // The sizes for view and reshape, with -1 resolved.
  function inferred(sizes, count) {
    let left = -1;
    let known = 1;
    sizes.forEach((size, at) => {
      if (size === -1) {
        if (left >= 0) raise("RuntimeError", "only one dimension can be inferred");
        left = at;
      } else if (size < 0) {
        raise("RuntimeError", `invalid shape dimension ${size} at index ${at} of shape ${list(sizes)}`);
      } else known *= size;
    });
    const fits = known === count || (left >= 0 && known > 0 && count % known === 0);
    if (!fits) {
      raise("RuntimeError", `shape '${list(sizes)}' is invalid for input of size ${count}`);
    }
    if (left < 0) return sizes;
    if (known === 0) {
      raise("RuntimeError", `cannot reshape tensor of 0 elements into shape ${list(sizes)} because `
        + "the unspecified dimension size -1 can be any value and is ambiguous");
    }
    return sizes.with(left, count / known);
  }

  // The strides with which the same storage has another shape; null if there are none.
  function viewed({ shape, stride }, wanted) {
    if (product(shape) === 0) {
      return list(shape) === list(wanted) ? stride : rowMajor(wanted);
    }
    const found = Array(wanted.length).fill(1);
    let at = wanted.length - 1;
    let step = stride.at(-1) ?? 1; // of a block of dimensions without jumps between them
    let block = 1;
    let filled = 1;
    for (let dim = shape.length - 1; dim >= 0; dim--) {
      block *= shape[dim];
      const ends = dim === 0 || (shape[dim - 1] !== 1 && stride[dim - 1] !== block * step);
      if (!ends) continue;
      while (at >= 0 && (filled < block || wanted[at] === 1)) {
        found[at] = filled * step;
        filled *= wanted[at];
        at -= 1;
      }
      if (filled !== block) return null;
      if (dim > 0) {
        step = stride[dim - 1];
        block = filled = 1;
      }
    }
    return at < 0 || !shape.length ? found : null;
  }

  function view(x, sizes) {
    const shape = inferred(sizes, product(x.shape));
    const stride = viewed(x, shape);
    if (!stride) {
      raise("RuntimeError", "view size is not compatible with input tensor's size and stride (at "
        + "least one dimension spans across two contiguous subspaces). Use .reshape(...) instead.");
    }
    return { ...x, shape, stride };
  }

  function reshape(x, sizes) {
    const shape = inferred(sizes, product(x.shape));
    const stride = viewed(x, shape);
    return stride ? { ...x, shape, stride } : copied(x, shape);
  }

  function permute(x, dims) {
    if (dims.length !== x.shape.length) {
      raise("RuntimeError", "permute(sparse_coo): number of dimensions in the tensor input does not "
        + "match the length of the desired ordering of dimensions i.e. input.dim() = "
        + `${x.shape.length} is not equal to len(dims) = ${dims.length}`);
    }
    const order = [];
    for (const dim of dims) {
      const wrapped = wrap(dim, x.shape.length);
      if (order.includes(wrapped)) raise("RuntimeError", "permute(): duplicate dims are not allowed.");
      order.push(wrapped);
    }
    return {
      ...x, shape: order.map((dim) => x.shape[dim]), stride: order.map((dim) => x.stride[dim]),
    };
  }

  function transpose(x, [first, second]) {
    const rank = x.shape.length;
    const [a, b] = [wrap(first, rank), wrap(second, rank)];
    if (!rank) return x;
    const order = x.shape.map((_, dim) => (dim === a ? b : dim === b ? a : dim));
    return permute(x, order);
  }

  function t(x) {
    const rank = x.shape.length;
    if (rank > 2) {
      raise("RuntimeError", `t() expects a tensor with <= 2 dimensions, but self is ${rank}D`);
    }
    return rank < 2 ? x : transpose(x, [0, 1]);
  }

  function expand(x, sizes) {
    const missing = sizes.length - x.shape.length;
    if (missing < 0) {
      raise("RuntimeError", `expand(torch.LongTensor{${list(x.shape)}}, size=${list(sizes)}): the `
        + `number of sizes provided (${sizes.length}) must be greater or equal to the number of `
        + `dimensions in the tensor (${x.shape.length})`);
    }
    if (!x.shape.length && sizes.includes(-1)) {
      unread("A 0-d tensor has no size that -1 could keep.");
    }
    const shape = [...sizes];
    const stride = Array(sizes.length).fill(0);
    for (let dim = sizes.length - 1; dim >= 0; dim--) {
      const own = dim - missing;
      const size = x.shape[own] ?? 1;
      if (sizes[dim] === -1) {
        if (own < 0) {
          raise("RuntimeError", "The expanded size of the tensor (-1) isn't allowed in a leading, "
            + `non-existing dimension ${dim}`);
        }
        shape[dim] = size;
      }
      if (shape[dim] !== size && size !== 1) {
        raise("RuntimeError", `The expanded size of the tensor (${shape[dim]}) must match the `
          + `existing size (${size}) at non-singleton dimension ${dim}.  Target sizes: ${
            list(sizes)}.  Tensor sizes: ${list(x.shape)}`);
      }
      if (shape[dim] === size && x.shape.length) {
        stride[dim] = own < 0 ? shape[dim + 1] * stride[dim + 1] : x.stride[own];
      }
    }
    return { ...x, shape, stride };
  }

  function unsqueeze({ shape, stride, ...x }, [asked]) {
    const dim = wrap(asked, shape.length + 1);
    const step = dim < shape.length ? shape[dim] * stride[dim] : 1;
    return { ...x, shape: shape.toSpliced(dim, 0, 1), stride: stride.toSpliced(dim, 0, step) };
  }

  function squeeze({ shape, stride, ...x }, [asked]) {
    const only = asked === undefined ? null : wrap(asked, shape.length);
    const stays = (_, dim) => shape[dim] !== 1 || (only !== null && dim !== only);
    return { ...x, shape: shape.filter(stays), stride: stride.filter(stays) };
  }

  function flatten(x, [from = 0, to = -1]) {
    const rank = x.shape.length;
    const [first, last] = [wrap(from, rank), wrap(to, rank)];
    if (first > last) {
      raise("RuntimeError", "flatten() has invalid args: start_dim cannot come after end_dim");
    }
    if (!rank) return reshape(x, [1]);
    if (first === last) return x;
    const merged = product(x.shape.slice(first, last + 1));
    return reshape(x, x.shape.toSpliced(first, last - first + 1, merged));
  }

  const reversed = (x) => permute(x, x.shape.map((_, dim) => x.shape.length - 1 - dim));

  function matrices(x) {
    const rank = x.shape.length;
    if (rank === 1) {
      raise("RuntimeError",
        "tensor.mT is only supported on matrices or batches of matrices. Got 1-D tensor.");
    }
    return rank ? transpose(x, [-2, -1]) : x;
  }

  const contiguous = (x) => (isContiguous(x) ? x : copied(x));

  // A number in the brackets, at a place of its own there, takes its dimension away.
  function picked({ shape, stride, offset }, dim, place, at) {
    if (!shape.length) {
      raise("IndexError", "invalid index of a 0-dim tensor. Use `tensor.item()` in Python or "
        + "`tensor.item<T>()` in C++ to convert a 0-dim tensor to a number");
    }
    const size = shape[dim];
    if (place < -size || place >= size) {
      // torch counts the parts in the brackets, including None and ....
      raise("IndexError", `index ${place} is out of bounds for dimension ${at} with size ${size}`);
    }
    return {
      shape: shape.toSpliced(dim, 1), stride: stride.toSpliced(dim, 1),
      offset: offset + (place < 0 ? place + size : place) * stride[dim],
    };
  }

  function sliced({ shape, stride, offset }, dim, place) {
    const step = place.step ?? 1;
    if (step === 0) raise("ValueError", "slice step cannot be zero");
    if (step < 0) raise("ValueError", "step must be greater than zero");
    if (!shape.length) raise("IndexError", "slice() cannot be applied to a 0-dim tensor.");
    const size = shape[dim];
    const within = (end, low) => Math.min(Math.max(end < 0 ? end + size : end, low), size);
    const from = within(place.from ?? 0, 0);
    const to = within(place.to ?? size, from);
    return {
      shape: shape.with(dim, Math.ceil((to - from) / step)),
      stride: stride.with(dim, stride[dim] * step),
      offset: offset + from * stride[dim],
    };
  }

  // x[…], of whose parts each is a number, { from, to, step }, null for None, or "..." for an ellipsis.
  function index(x, places) {
    const rank = x.shape.length;
    const read = places.filter((place) => place !== null && place !== "...").length;
    if (places.length > 1 && read > rank) {
      raise("IndexError", `too many indices for tensor of dimension ${rank}`);
    }
    let dim = 0;
    let found = x;
    for (const [at, place] of places.entries()) {
      if (place === "...") dim += rank - read;
      else if (typeof place === "number") found = { ...x, ...picked(found, dim, place, at) };
      else {
        found = place === null ? unsqueeze(found, [dim]) : { ...x, ...sliced(found, dim, place) };
        dim += 1;
      }
    }
    return found;
  }

  const STEPS = {
    transpose: [transpose, 2, 2], t: [t, 0, 0], permute: [permute, 1, 20], expand: [expand, 1, 20],
    view: [view, 1, 20], reshape: [reshape, 1, 20], unsqueeze: [unsqueeze, 1, 1],
    squeeze: [squeeze, 0, 1], flatten: [flatten, 0, 2], contiguous: [contiguous, 0, 0],
  };
  const ATTRIBUTES = { T: reversed, mT: matrices };
  const MANY = ["permute", "expand", "view", "reshape"]; // these accept a tuple of numbers

  const integer = (text) => {
    if (!/^-?\d+$/.test(text)) unread(`“${text}” is not a whole number.`);
    return Number(text);
  };

  function place(text) {
    if (text === "None") return null;
    if (text === "...") return text;
    if (!text.includes(":")) return integer(text);
    const ends = text.split(":").map((end) => end.trim());
    if (ends.length > 3) unread(`“${text}” is not a slice.`);
    const [from, to, step] = ends.map((end) => (end === "" ? null : integer(end)));
    return { from, to, step };
  }

  const parts = (text) => text.replace(/,\s*$/, "").split(",").map((part) => part.trim());

  // Python code such as ".t()[1:].view(-1)", on one or several lines → [{ line, run }]
  function parse(text) {
    const found = [];
    let rest = text.replace(/^\s*(x\s*=\s*)?x?(?=[.[])/gm, "").trim();
    while (rest) {
      const called = rest.match(/^\.?\s*(\w+)\(([^()]*|\s*[([][^()]*[)\]]\s*)\)\s*/);
      const indexed = rest.match(/^\[([^\][]*)\]\s*/);
      const attribute = rest.match(/^\.\s*(T|mT)\b\s*/);
      if (attribute) {
        found.push({ line: attribute[0].trim(), run: ATTRIBUTES[attribute[1]] });
      } else if (indexed) {
        const places = parts(indexed[1]).map(place);
        if (places.filter((one) => one === "...").length > 1) {
          unread("One ... is enough.");
        }
        found.push({ line: indexed[0].trim(), run: (x) => index(x, places) });
      } else if (called && called[1] in STEPS) {
        const [, name, inner] = called;
        const [step, least, most] = STEPS[name];
        const bare = MANY.includes(name) ? inner.trim().replace(/^[([](.*)[)\]]$/s, "$1") : inner;
        const numbers = bare.trim() ? parts(bare).map(integer) : [];
        if (numbers.length < least || numbers.length > most) {
          unread(`${name}() does not accept ${numbers.length} numbers here.`);
        }
        if (name === "expand" && numbers.some((size) => size < -1)) {
          unread("expand() accepts sizes, and -1 to keep a size.");
        }
        found.push({
          line: `.${called[0].trim().replace(/^\.\s*/, "")}`,
          run: (x) => step(x, numbers), name, numbers,
        });
      } else {
        unread(`“${rest.split("\n")[0]}” is not a step of this explorer: ${
          Object.keys({ ...STEPS, ...ATTRIBUTES }).join(", ")}, and [ ] with numbers, slices, None and “...”.`);
      }
      rest = rest.slice((attribute ?? indexed ?? called)[0].length);
    }
    return found;
  }

  const shown = (x) => ({
    shape: x.shape, stride: x.stride, offset: x.offset, contiguous: isContiguous(x),
  });

  function followed(shape, asked) {
    const count = product(shape);
    let x = {
      storage: Array.from({ length: count }, (_, i) => i),
      shape, stride: rowMajor(shape), offset: 0, shares: true,
    };
    const start = shown(x);
    const steps = [];
    const code = [`x = torch.arange(${count}).view(${shape.join(", ") || "()"})`];
    for (const { line, run, name, numbers } of asked) {
      code.push(`x = x${line}`);
      const next = failing(run)(x);
      if (next.error) {
        const fits = name === "view" && next.error.includes("not compatible");
        const copy = fits ? product(reshape(x, numbers).shape) * BYTES : null;
        return { start, steps, code: code.join("\n"), line, error: next.error, copy };
      }
      steps.push({ line, ...shown(next), copies: next.storage !== x.storage });
      x = next;
    }
    const flat = viewed(x, [product(x.shape)]) !== null;
    return {
      start, steps, code: code.join("\n"), storage: x.storage, positions: positions(x),
      values: values(x), shares: x.shares, viewable: flat,
      bytes: product(x.shape) * BYTES, held: x.storage.length * BYTES,
    };
  }

  return { answer: answering((shape, text) => followed(shape, parse(text))) };
})();
