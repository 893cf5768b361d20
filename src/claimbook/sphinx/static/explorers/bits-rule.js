// How PyTorch stores a number in various floats: its bits, the error, and the neighbouring numbers.
// Pure: a test compares all of it with torch.

const bits = (() => {
  const { unread, answering } = rule;
  const FORMATS = [
    { dtype: "float32", exponent: 8, fraction: 23 },
    { dtype: "float16", exponent: 5, fraction: 10 },
    { dtype: "bfloat16", exponent: 8, fraction: 7 },
    { dtype: "float8_e5m2", exponent: 5, fraction: 2, nan: "ones" },
    { dtype: "float8_e4m3fn", exponent: 4, fraction: 3, nan: "ones", finite: true },
  ];

  // A number as Python prints it.
  function repr(number) {
    if (Number.isNaN(number)) return "nan";
    if (!Number.isFinite(number)) return number < 0 ? "-inf" : "inf";
    if (number === 0) return Object.is(number, -0) ? "-0.0" : "0.0";
    const [, sign, digits, power] = number.toExponential().match(/^(-?)([\d.]+)e([+-]\d+)$/);
    const exponent = Number(power);
    if (exponent < -4 || exponent >= 16) {
      const size = String(Math.abs(exponent)).padStart(2, "0");
      return `${sign}${digits}e${exponent < 0 ? "-" : "+"}${size}`;
    }
    const plain = digits.replace(".", "");
    if (exponent < 0) return `${sign}0.${"0".repeat(-exponent - 1)}${plain}`;
    const whole = plain.slice(0, exponent + 1).padEnd(exponent + 1, "0");
    return `${sign}${whole}.${plain.slice(exponent + 1) || "0"}`;
  }

  const NUMBER = String.raw`\d[\d_]*\.?\d*(?:e[+-]?\d+)?|\.\d+(?:e[+-]?\d+)?|inf|nan`;
  const TYPED = new RegExp(`^(-?)\\s*(${NUMBER})\\s*(?:(\\*\\*|/)\\s*(-?)\\s*(${NUMBER}))?$`, "i");

  // "0.1", "1/3", "2**-24", "inf" → { number, code }: its value and Python code
  function parse(text) {
    const trimmed = text.trim().replace(/^float\(["']?|["']?\)$/g, "").replace(/−/g, "-");
    const found = trimmed.match(TYPED);
    if (!found) {
      unread(`“${text}” is not a number that this explorer can read; try 0.1, 1e-8, 1/3, 2**-24 or inf.`);
    }
    const [, minus, first, operator, sign, second] = found;
    const value = (digits) => (
      /inf/i.test(digits) ? Infinity : /nan/i.test(digits) ? NaN : Number(digits.replaceAll("_", "")));
    const whole = /^[\d_]+$/.test(first);
    const negated = (one) => (whole ? 0 - one : -one); // Python's integers have no -0
    let number = value(first);
    if (operator) {
      if (!/^[\d.]/.test(first) || !/^[\d.]/.test(second)) unread("Type inf or nan on its own.");
      const other = sign ? -value(second) : value(second);
      if (operator === "/" && other === 0) unread("Python raises an error on division by zero.");
      if (operator === "**" && (number !== 2 || !Number.isInteger(other))) {
        unread("Only powers of 2 with a whole exponent can be read here.");
      }
      if (operator === "**" && Math.abs(other) > 1022) unread("That exponent is too large or too small.");
      if (operator === "**") number **= other;
      else number = (minus ? negated(number) : number) / other;
    }
    const alone = /inf|nan/i.test(first);
    const code = alone ? `float("${minus}${first.toLowerCase()}")` : `float(${trimmed})`;
    return { number: minus && operator !== "/" ? negated(number) : number, code };
  }

  // The place of a number among those of its sign, from 0, is its exponent and fraction read as one
  // integer.
  function described({ exponent, fraction, finite = false, nan }) {
    const size = 2 ** fraction;
    const ones = 2 ** exponent - 1;
    const infinity = finite ? null : ones * size;
    const least = 2 - 2 ** (exponent - 1); // the exponent of the smallest normal number
    return {
      size, infinity, least, fraction, normal: size,
      nan: nan === "ones" ? (ones + 1) * size - 1 : ones * size + size / 2,
      largest: finite ? (ones + 1) * size - 2 : infinity - 1,
    };
  }

  function decoded(place, { size, infinity, least, largest, fraction }) {
    if (place === infinity) return Infinity;
    if (place > largest) return NaN;
    const exponent = Math.floor(place / size);
    const digits = exponent ? size + place % size : place;
    return digits * 2 ** (least + Math.max(exponent, 1) - 1 - fraction);
  }

  function halfToEven(number) {
    const below = Math.floor(number);
    const rest = number - below;
    return rest > 0.5 || (rest === 0.5 && below % 2) ? below + 1 : below;
  }

  // A non-negative number → its place; PyTorch rounds it to float32 first.
  function encoded(number, format) {
    const { size, infinity, least, largest, nan, fraction } = format;
    const single = Math.fround(number);
    if (Number.isNaN(single)) return nan;
    const most = infinity ?? largest;
    if (single === Infinity) return most;
    let exponent = Math.max(Math.floor(Math.log2(single)), least);
    if (2 ** exponent > single && exponent > least) exponent -= 1; // if log2 was rounded up
    const digits = halfToEven(single / 2 ** (exponent - fraction));
    const place = (exponent - least) * size + digits;
    return place > largest ? most : place;
  }

  // The number's fate, in a word.
  function fate(number, stored, place, format) {
    if (Number.isNaN(number)) return "nan";
    if (!Number.isFinite(stored)) return Number.isFinite(number) ? "overflows" : "infinite";
    if (format.infinity === null && Math.abs(number) > decoded(format.largest, format)) {
      return "saturates";
    }
    if (number && !stored) return "underflows";
    const exact = number === stored ? "exact" : "rounded";
    return stored && place < format.normal ? `${exact}, subnormal` : exact;
  }

  function beside(place, negative, format) {
    const { largest, infinity, nan } = format;
    if (place === nan) return { below: null, above: null, step: null };
    const outer = place === infinity || (place === largest && infinity === null) ? null
      : decoded(place + 1, format);
    const inner = place ? decoded(place - 1, format) : -decoded(1, format);
    const [above, below] = [outer, inner].map((one) => (one === null || !negative ? one : -one));
    const here = decoded(place, format);
    return {
      below: negative ? above : below,
      above: negative ? below : above,
      step: outer === null || outer === Infinity ? null : outer - here,
    };
  }

  function stored(number, shape) {
    const format = described(shape);
    const negative = number < 0 || Object.is(number, -0);
    const place = encoded(Math.abs(number), format);
    const width = 1 + shape.exponent + shape.fraction;
    const digits = (negative ? "1" : "0") + place.toString(2).padStart(width - 1, "0");
    const value = (pattern) => {
      const found = decoded(parseInt(pattern.slice(1), 2), format);
      return pattern[0] === "1" ? -found : found;
    };
    const flipped = [...digits].map((digit, at) => (
      digits.slice(0, at) + (1 - digit) + digits.slice(at + 1)));
    const here = value(digits);
    const { below, above, step } = beside(place, negative, format);
    const text = (one) => (one === null ? null : repr(one));
    return {
      dtype: shape.dtype, digits, fields: [1, shape.exponent, shape.fraction], stored: repr(here),
      fate: fate(number, here, place, format),
      off: Number.isFinite(here - number) ? repr(here - number) : null,
      below: text(below), above: text(above), step: text(step),
      largest: repr(decoded(format.largest, format)), flips: flipped.map((one) => repr(value(one))),
    };
  }

  function told(text) {
    const { number, code } = parse(text);
    const lines = FORMATS.map(({ dtype }) => `torch.tensor(x, dtype=torch.${dtype}).item()\n`);
    return {
      number: repr(number), formats: FORMATS.map((shape) => stored(number, shape)),
      code: `x = ${code}\n${lines.join("")}`.trimEnd(),
    };
  }

  return { answer: answering(told) };
})();
