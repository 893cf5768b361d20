// The explorer of type promotion: shows the answers of promotion-rule.js as a table.

explorers.start("promotion", (() => {
  const { DTYPES, NUMBERS, OPERATIONS, KINDS } = promotion;
  const PYTHON = { bool: "bool", int64: "int", float32: "float", complex64: "complex" };
  const choices = {
    "Tensor with a dimension": DTYPES.map((dtype) => [`${dtype}[3]`, `${dtype}, shape [3]`]),
    "0-d tensor": DTYPES.map((dtype) => [`${dtype}[]`, `${dtype}, 0-d`]),
    "Python number": Object.entries(NUMBERS).map(([number, dtype]) => (
      [number, `Python ${PYTHON[dtype]}, as ${number}`])),
  };
  const TERMS = ["a tensor with a dimension", "a 0-d tensor", "a Python number"];
  const { table, code, error, unread } = explorers;

  // A sentence that explains the dtype of the sum.
  function reason(a, b, dtype) {
    const [kindA, kindB] = [a, b].map((one) => promotion.kind(one.dtype));
    if (a.counts === b.counts) {
      if (a.dtype === b.dtype) return "Both operands have this dtype.";
      if (kindA !== kindB) {
        return `The higher kind decides: ${KINDS[Math.max(kindA, kindB)]} is above ${
          KINDS[Math.min(kindA, kindB)]}.`;
      }
      return [a.dtype, b.dtype].includes(dtype) ? "Of one kind, the wider type decides."
        : "Neither type can represent the other, so both become one that can.";
    }
    const [first, strong, second, weak] = a.counts < b.counts ? ["a", a, "b", b] : ["b", b, "a", a];
    const [high, low] = [strong, weak].map((one) => promotion.kind(one.dtype));
    const place = `${code(second)} is ${TERMS[weak.counts]}`;
    if (low <= high) {
      return `${place} and of no higher kind than ${code(first)}, ${
        TERMS[strong.counts]}; so the dtype of ${code(first)} decides.`;
    }
    const from = low === 3 && high === 2 ? `complex, with the width of ${code(first)}`
      : !weak.number ? `the dtype of ${code(second)}`
        : low === 1 ? "int64, as for all Python integers" : `the default ${KINDS[low]} dtype`;
    return `${place}, but its kind (${KINDS[low]}) is above that of ${code(first)} (${
      KINDS[high]}); so the result is ${from}.`;
  }

  // The sentence for the operation that is asked.
  function why(a, b, operation, dtype) {
    if (operation === "==" || operation === ">") return "A comparison returns truth values.";
    if (operation.endsWith("=") && !a.number) return "An in-place operation keeps the dtype of a.";
    const sum = promotion.answer(a.text, b.text, "+").dtype;
    if (sum === dtype) return reason(a, b, dtype);
    return operation === "/" ? "True division turns integers into the default float dtype." : "";
  }

  const RAISES = "raises an error";

  function results(answers) {
    const rows = answers.map(({ asked, dtype, wide }) => [
      code(asked), dtype ? `<strong>${dtype}</strong>` : RAISES,
      dtype && dtype === wide.dtype ? "the same" : wide.dtype ?? RAISES,
    ]);
    return table("Results", ["", "dtype", "if both had dimensions"], rows);
  }

  // The errors of other operations, each once.
  function others(answers, own) {
    const failed = answers.filter((one) => one.error && one.error !== own);
    return [...Map.groupBy(failed, (one) => one.error)].map(([text, all]) => (
      `<p>${all.map(({ asked }) => code(asked)).join(", ")}:</p>${error(text)}`)).join("");
  }

  return {
    fields: {
      a: { label: "a", choices, hint: "the left operand" },
      b: { label: "b", choices, hint: "the right operand" },
      of: {
        label: "Operation", hint: "for the code and the sentence",
        choices: { Operation: OPERATIONS.map((sign) => [sign, `a ${sign} b`]) },
      },
    },
    examples: {
      "float16 times a Python float": { a: "float16[3]", b: "2.5", of: "*" },
      "float32 and float64": { a: "float32[3]", b: "float64[3]", of: "+" },
      "a 0-d float64": { a: "float32[3]", b: "float64[]", of: "+" },
      "int64 and float16": { a: "int64[3]", b: "float16[3]", of: "+" },
      "dividing integers": { a: "int64[3]", b: "2", of: "/" },
      "two 16-bit floats": { a: "float16[3]", b: "bfloat16[3]", of: "+" },
      "in place into integers": { a: "int64[3]", b: "float32[3]", of: "+=" },
      "a number minus a mask": { a: "2", b: "bool[3]", of: "-" },
    },
    show({ a: left, b: right, of: operation }) {
      const [a, b] = [promotion.operand(left), promotion.operand(right)];
      if (a.number && b.number) unread("Both are Python numbers: choose a tensor for a or b.");
      const answers = OPERATIONS.map((sign) => (
        { asked: `a ${sign} b`, ...promotion.answer(left, right, sign) }));
      const { asked, dtype, error: own, code: program } = answers[OPERATIONS.indexOf(operation)];
      return {
        said: own ? `${code(asked)} raises an error.`
          : `${code(asked)} is <strong>${dtype}</strong>. ${why(a, b, operation, dtype)}`,
        error: own, html: results(answers) + others(answers, own), code: program,
      };
    },
  };
})());
