// The explorer of a number's bits: shows the answers of bits-rule.js, one row per dtype.

explorers.start("bits", (() => {
  const { escaped, among, readable } = explorers;
  const PARTS = ["sign", "exponent", "fraction"];
  const short = (text, digits = 4) => (
    text.length > 12 ? String(Number(Number(text).toPrecision(digits))) : text);

  const FATES = {
    nan: () => "a NaN",
    infinite: () => "an infinity",
    overflows: ({ largest }) => `overflows: the largest number is ${short(largest)}`,
    saturates: ({ largest }) => `saturates: this dtype has no infinity, its largest number is ${largest}`,
    underflows: () => "underflows: the number is too close to zero",
  };
  const fate = (format) => FATES[format.fate]?.(format) ?? (format.fate.startsWith("exact")
    ? format.fate : `${format.fate}: off by ${short(format.off)}`);

  // A checkbox for each bit; those of a dtype are one tab stop.
  function bitsOf({ dtype, digits, flips, fields: [, exponent, fraction] }) {
    const bit = (at) => {
      const part = at === 0 ? 0 : at <= exponent ? 1 : 2;
      const name = [PARTS[0], `exponent 2^${exponent - at}`, `fraction 2^-${at - exponent}`][part];
      return `<button type="button" role="checkbox" class="${PARTS[part]}" aria-label="${name}"
        aria-checked="${digits[at] === "1"}" title="${name}: flips to ${flips[at]}" tabindex="${at ? -1 : 0}"
        data-key="${dtype}-${at}" data-field="number" data-pick="${flips[at]}">${digits[at]}</button>`;
    };
    const all = [...digits].map((_, at) => bit(at));
    const parts = [all.slice(0, 1), all.slice(1, -fraction), all.slice(-fraction)];
    return `<p class="explorer-bits" role="toolbar" data-columns="1" aria-label="Bits of ${dtype}">${
      parts.map((part) => `<span class="explorer-part">${part.join("")}</span>`).join("")}</p>`;
  }

  function row(format) {
    const { dtype, stored, step, fields: [, exponent, fraction] } = format;
    const beside = ["below", "above"].filter((side) => format[side] !== null).map((side) => (
      `<button type="button" data-key="${dtype}-${side}" data-field="number" data-pick="${
        format[side]}" aria-label="the next number ${side} in ${dtype}: ${format[side]}">${
        side === "below" ? "↓" : "↑"} ${short(format[side], 9)}</button>`));
    const spacing = step === null ? "" : `, spacing ${short(step)}`;
    return `<section class="explorer-float" aria-label="${dtype}">
      <p><code>${dtype}</code> stores <strong>${stored}</strong>: ${fate(format)}</p>
      ${bitsOf(format)}
      <p class="explorer-buttons">${exponent} bits of exponent, ${fraction} of fraction${
      spacing} ${beside.join("")}</p></section>`;
  }

  // Says which dtypes store the number exactly, and which lose it altogether.
  function summary({ number, formats }) {
    const having = (...fates) => formats.filter((one) => fates.includes(one.fate)).map(({ dtype }) => dtype);
    const exact = having("exact", "exact, subnormal", "infinite", "nan");
    const stores = exact.length ? `${among(exact)} ${exact.length > 1 ? "store" : "stores"} it exactly`
      : "none of the five stores it exactly";
    const fails = ["overflows", "saturates", "underflows"].map((one) => [one, having(one)])
      .filter(([, names]) => names.length)
      .map(([one, names]) => `; ${among(names)} ${names.length > 1 ? one.slice(0, -1) : one}`);
    return `${escaped(number)}: ${stores}${fails.join("")}.`;
  }

  return {
    fields: {
      number: { label: "A number", hint: "0.1, 1e-8, 1/3, 2**-24 or inf; choosing a bit flips it" },
    },
    examples: {
      "0.1": { number: "0.1" },
      "257": { number: "257" },
      "70000: float16 overflows": { number: "70000" },
      "1e-8: a small gradient": { number: "1e-8" },
      "1e-5: subnormal": { number: "1e-5" },
      "16777217: too long for float32": { number: "16777217" },
      "1000: float8": { number: "1000" },
      "-inf": { number: "-inf" },
    },
    show({ number }) {
      const found = readable(bits.answer(number));
      const legend = PARTS.map((name) => `<span class="${name}">${name}</span>`).join(" ");
      return {
        said: summary(found),
        html: `<p class="explorer-bits explorer-legend">${legend}</p>
          ${found.formats.map(row).join("")}`,
        code: found.code,
      };
    },
  };
})());
