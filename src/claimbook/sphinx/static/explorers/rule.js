// What the rules have in common: how sizes are written, and the two ways to end without a result.

const rule = (() => {
  const product = (sizes) => sizes.reduce((all, size) => all * size, 1);
  const list = (sizes) => `[${sizes.join(", ")}]`;
  const tuple = (sizes) => `(${sizes.join(", ")}${sizes.length === 1 ? "," : ""})`;

  class Raised extends Error {} // an error of torch or Python
  class Unread extends Error {} // what was typed is none of the cases of an explorer

  const raise = (kind, text) => { throw new Raised(`${kind}: ${text}`); };
  const unread = (text) => { throw new Unread(text); };

  const outOfRange = (dim, rank) => raise("IndexError",
    `Dimension out of range (expected to be in range of [${-rank}, ${rank - 1}], but got ${dim})`);

  // The function, with `otherwise(problem)` in place of a kind of error.
  const instead = (Kind, otherwise, made) => (...given) => {
    try {
      return made(...given);
    } catch (problem) {
      if (problem instanceof Kind) return otherwise(problem);
      throw problem;
    }
  };
  const answering = (made) => instead(Unread, ({ message }) => ({ unread: message }), made);

  return { product, list, tuple, Raised, Unread, raise, unread, outOfRange, instead, answering };
})();
