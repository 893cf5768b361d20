// torch's answer to a + b and other operations on two operands of given dtypes. Pure: a test compares
// all of it with torch.
//
// An operand is "float16[3]" (a tensor with a dimension), "float16[]" (a 0-d tensor), or a Python
// number: True, 2, 2.5 or 2j.

const promotion = (() => {
  const { raise, failing } = rule;
  const NAMES = {
    bool: "Bool", uint8: "Byte", int8: "Char", int16: "Short", int32: "Int", int64: "Long",
    uint16: "UInt16", uint32: "UInt32", uint64: "UInt64",
    float8_e4m3fn: "Float8_e4m3fn", float8_e5m2: "Float8_e5m2",
    float16: "Half", bfloat16: "BFloat16", float32: "Float", float64: "Double",
    complex32: "ComplexHalf", complex64: "ComplexFloat", complex128: "ComplexDouble",
  };
  const DTYPES = Object.keys(NAMES).filter((dtype) => dtype !== "complex32");
  const NUMBERS = { True: "bool", 2: "int64", 2.5: "float32", "2j": "complex64" };
  const KINDS = ["bool", "integer", "float", "complex"];
  const OPERATIONS = ["+", "-", "*", "/", "//", ">", "==", "+=", "/="];
  const WIDE_UNSIGNED = ["uint16", "uint32", "uint64"];
  const FLOAT8 = ["float8_e4m3fn", "float8_e5m2"];
  const COMPLEX_OF = {
    float16: "complex32", bfloat16: "complex64", float32: "complex64", float64: "complex128",
  };

  const kind = (dtype) => (
    dtype === "bool" ? 0 : dtype.includes("int") ? 1 : dtype.includes("complex") ? 3 : 2);
  const bits = (dtype) => Number(dtype.match(/\d+/)[0]);

  // The common dtype of two operands of equal priority.
  function promote(a, b) {
    if (a === b || !b) return a;
    if (!a) return b;
    const either = (group) => group.includes(a) || group.includes(b);
    const named = `attempted to promote ${NAMES[a]} and ${NAMES[b]}`;
    if (either(FLOAT8)) raise("RuntimeError", `Promotion for Float8 Types is not supported, ${named}`);
    if (either(WIDE_UNSIGNED)) {
      if (kind(a) === 2) return a;
      if (kind(b) === 2) return b;
      raise("RuntimeError",
        `Promotion for uint16, uint32, uint64 types is not supported, ${named}`);
    }
    const [low, high] = kind(a) <= kind(b) ? [a, b] : [b, a];
    if (kind(low) < kind(high)) {
      if (kind(high) < 3 || kind(low) < 2) return high;
      return bits(COMPLEX_OF[low]) > bits(high) ? COMPLEX_OF[low] : high;
    }
    if (bits(a) !== bits(b)) return bits(a) > bits(b) ? a : b;
    return kind(a) === 1 ? "int16" : "float32"; // uint8 and int8, float16 and bfloat16
  }

  // The dtype of two operands of different priority.
  function combine(higher, lower) {
    if (!higher || !lower) return higher ?? lower;
    if (kind(higher) === 3) return higher;
    if (kind(higher) === 2) {
      if (kind(lower) < 3) return higher;
      return COMPLEX_OF[higher]
        ?? raise("RuntimeError", `Unknown Complex ScalarType for ${NAMES[higher]}`);
    }
    if (kind(lower) === 3) return lower;
    return kind(higher) === 0 || kind(lower) === 2 ? promote(higher, lower) : higher;
  }

  function operand(text) {
    if (text in NUMBERS) return { text, dtype: NUMBERS[text], counts: 2, number: true };
    const [, dtype, sizes] = text.match(/^(\w+)\[(3?)\]$/);
    return { text, dtype, counts: sizes ? 0 : 1, number: false };
  }

  // Priority: tensors with dimensions, then 0-d tensors, then Python numbers.
  function common(...operands) {
    const found = [undefined, undefined, undefined];
    for (const { dtype, counts } of operands) found[counts] = promote(found[counts], dtype);
    return combine(found[0], combine(found[1], found[2]));
  }

  const missing = (kernel, dtype) => (
    raise("NotImplementedError", `"${kernel}" not implemented for '${NAMES[dtype]}'`));

  function refuse(kernel, dtype, ...groups) {
    if (groups.flat().includes(dtype)) missing(kernel, dtype);
    return dtype;
  }

  const COMPLEX = ["complex32", "complex64", "complex128"];
  const alone = ({ counts }) => counts > 0; // a single number, which has its own kernel

  function add(a, b) {
    return refuse("add_stub", common(a, b), WIDE_UNSIGNED, FLOAT8);
  }

  function subtract(a, b) {
    const truth = [a, b].filter(({ dtype }) => dtype === "bool").length;
    if (truth === 2) {
      raise("RuntimeError", "Subtraction, the `-` operator, with two bool tensors is not supported. "
        + "Use the `^` or `logical_xor()` operator instead.");
    }
    if (truth) {
      raise("RuntimeError", "Subtraction, the `-` operator, with a bool tensor is not supported. If "
        + "you are trying to invert a mask, use the `~` or `logical_not()` operator instead.");
    }
    return add(a, b);
  }

  function multiply(a, b) {
    const [, second] = a.number ? [b, a] : [a, b];
    const dtype = common(a, b);
    return alone(second) ? refuse("mul_cpu_reduced_float", dtype, FLOAT8) : dtype;
  }

  const floated = (dtype) => (kind(dtype) < 2 ? "float32" : dtype);

  function divide(a, b) {
    if (a.number) { // 2 / b is b.reciprocal() * 2
      const dtype = refuse("reciprocal_cpu", floated(b.dtype), FLOAT8);
      return multiply({ ...b, dtype }, a);
    }
    const dtype = floated(common(a, b));
    if (alone(b)) refuse("div_cpu_reduced_float", dtype, FLOAT8);
    return refuse("div_cpu", dtype, FLOAT8, ["complex32"]);
  }

  function floorDivide(a, b) {
    const dtype = common(a, b);
    if (alone(b)) refuse("div_floor_cpu_reduced_float", dtype, FLOAT8);
    return refuse("div_floor_cpu", dtype, ["bool"], WIDE_UNSIGNED, FLOAT8, COMPLEX);
  }

  function greater(a, b) {
    const kernel = a.number ? "lt_cpu" : "gt_cpu"; // Python turns 2 > b into b < 2
    refuse(kernel, common(a, b), WIDE_UNSIGNED, FLOAT8, COMPLEX);
    return "bool";
  }

  function equal(a, b) {
    common(a, b);
    return "bool";
  }

  // Whether a result can be cast to a tensor's dtype in place.
  function castable(from, to) {
    if (kind(to) === 0) return from === to;
    return kind(from) <= Math.max(kind(to), 1);
  }

  const inPlace = (operation, result) => (a, b) => {
    if (a.number) return operation(a, b); // a new tensor: a number cannot be changed
    if (a.counts > 0 && b.counts === 0) {
      raise("RuntimeError", "output with shape [] doesn't match the broadcast shape [3]");
    }
    const dtype = result(common(a, b));
    if (!castable(dtype, a.dtype)) {
      raise("RuntimeError", `result type ${NAMES[dtype]} can't be cast to the desired output type ${
        NAMES[a.dtype]}`);
    }
    operation(a, b);
    return a.dtype;
  };

  const ANSWERS = {
    "+": add, "-": subtract, "*": multiply, "/": divide, "//": floorDivide, ">": greater,
    "==": equal, "+=": inPlace(add, (dtype) => dtype), "/=": inPlace(divide, floated),
  };

  const attempt = failing((operation, a, b) => ({ dtype: ANSWERS[operation](a, b) }));

  // The operand as if it had a dimension, so that only its dtype counts.
  const dimensioned = (one) => ({ ...one, counts: 0, number: false });

  function written(name, { text, dtype, counts, number }) {
    const sizes = counts ? "()" : "3";
    return `${name} = ${number ? text : `torch.ones(${sizes}, dtype=torch.${dtype})`}`;
  }

  // The answer to an operation on two operands; `wide`: the answer if both had dimensions.
  function answer(left, right, operation) {
    const [a, b] = [operand(left), operand(right)];
    const change = operation.length > 1 && operation.endsWith("=") && operation !== "==";
    const last = change ? `a ${operation} b\na.dtype` : `(a ${operation} b).dtype`;
    return {
      ...attempt(operation, a, b),
      wide: attempt(operation, dimensioned(a), dimensioned(b)),
      code: `${written("a", a)}\n${written("b", b)}\n${last}`,
    };
  }

  return { answer, operand, kind, KINDS, DTYPES, NUMBERS, OPERATIONS };
})();
