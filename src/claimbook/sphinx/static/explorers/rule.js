// Shared by the rules: formatting of sizes, and two kinds of error.

const rule = (() => {
  const product = (sizes) => sizes.reduce((all, size) => all * size, 1);
  const list = (sizes) => `[${sizes.join(", ")}]`;
  const tuple = (sizes) => `(${sizes.join(", ")}${sizes.length === 1 ? "," : ""})`;

  class Raised extends Error {} // an error of torch or Python
  class Unread extends Error {} // the input is not a case of the explorer

  const raise = (kind, text) => { throw new Raised(`${kind}: ${text}`); };
  const unread = (text) => { throw new Unread(text); };

  const outOfRange = (dim, rank) => raise("IndexError",
    `Dimension out of range (expected to be in range of [${-rank}, ${rank - 1}], but got ${dim})`);

  // Wraps a function so that errors of a kind become `otherwise(problem)`.
  const instead = (Kind, otherwise, made) => (...given) => {
    try {
      return made(...given);
    } catch (problem) {
      if (problem instanceof Kind) return otherwise(problem);
      throw problem;
    }
  };
  const answering = (made) => instead(Unread, ({ message }) => ({ unread: message }), made);
  const failing = (made) => instead(Raised, ({ message }) => ({ error: message }), made);

  return { product, list, tuple, Unread, raise, unread, outOfRange, instead, answering, failing };
})();
