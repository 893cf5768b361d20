// The explorer of a number's bits: what bits-rule.js answers, as one row of bits for each dtype.

explorers.start("bits", {
  fields: {
    number: { label: "A number", hint: "0.1, 1e-8, 1/3, 2**-24, inf; or click a bit to flip it" },
  },
  examples: {
    "0.1": { number: "0.1" },
    "257": { number: "257" },
    "70000: float16 overflows": { number: "70000" },
    "1e-8: a small gradient": { number: "1e-8" },
    "1e-5: subnormal": { number: "1e-5" },
    "16777217: too long for float32": { number: "2**24" },
    "1000: float8": { number: "1000" },
    "-inf": { number: "-inf" },
  },
  show({ number: typed }) {
    const { python, escaped, Unread } = explorers;
    const PARTS = ["sign", "exponent", "fraction"];
    const found = bits.answer(typed);
    if (found.unread) throw new Unread(found.unread);
    const short = (text, digits = 4) => (
      text.length > 12 ? String(Number(Number(text).toPrecision(digits))) : text);

    const fates = {
      nan: () => "a NaN",
      infinite: () => "an infinity",
      overflows: ({ largest }) => `overflows: the largest number is ${short(largest)}`,
      saturates: ({ largest }) => `saturates: this dtype has no infinity, its largest number is ${largest}`,
      underflows: () => "underflows: the number is too close to zero",
    };
    const fate = (format) => fates[format.fate]?.(format) ?? (format.fate.startsWith("exact")
      ? format.fate : `${format.fate}: off by ${short(format.off)}`);

    function row(format) {
      const ends = [1, 1 + format.fields[1], format.digits.length];
      const part = (at) => PARTS[ends.findIndex((end) => at < end)];
      const cells = [...format.digits].map((digit, at) => (
        `<span class="${part(at)}" data-field="number" data-pick="${format.flips[at]}">${digit}</span>`));
      const groups = PARTS.map((name, i) => `<span class="explorer-part" aria-label="${name} ${
        format.digits.slice(ends[i - 1] ?? 0, ends[i])}" role="img">${
        cells.slice(ends[i - 1] ?? 0, ends[i]).join("")}</span>`);
      const beside = ["below", "above"].filter((side) => format[side] !== null).map((side) => (
        `<button type="button" data-key="${format.dtype}-${side}" data-field="number"
          data-pick="${format[side]}" aria-label="the next number ${side} in ${format.dtype}: ${
          format[side]}">${side === "below" ? "↓" : "↑"} ${short(format[side], 9)}</button>`));
      const step = format.step === null ? "" : `, step ${short(format.step)}`;
      return `<section class="explorer-float" aria-label="${format.dtype}">
        <p><code>${format.dtype}</code> stores <strong>${format.stored}</strong>: ${fate(format)}</p>
        <p class="explorer-bits">${groups.join("")}</p>
        <p class="explorer-buttons">${format.fields[1]} bits of exponent, ${
        format.fields[2]} of fraction${step} ${beside.join("")}</p></section>`;
    }

    const exact = found.formats.filter((one) => one.fate.startsWith("exact")).map((one) => one.dtype);
    const lost = found.formats.filter((one) => ["overflows", "underflows", "saturates"].includes(one.fate));
    const among = (names) => `${names.slice(0, -1).join(", ")}${
      names.length > 1 ? " and " : ""}${names.at(-1)}`;
    const stores = exact.length ? `${among(exact)} ${exact.length > 1 ? "store" : "stores"} it exactly`
      : "none of the five stores it exactly";
    const fails = [...new Set(lost.map(({ fate: one }) => one))].map((one) => {
      const names = lost.filter((format) => format.fate === one).map(({ dtype }) => dtype);
      return `${among(names)} ${names.length > 1 ? one.slice(0, -1) : one}`;
    });
    const said = Number.isFinite(Number(found.number))
      ? `${escaped(found.number)}: ${stores}${fails.map((one) => `; ${one}`).join("")}.`
      : `${escaped(found.number)} has bits of its own in each dtype that can represent it.`;
    const legend = PARTS.map((name) => `<span class="${name}">${name}</span>`).join(" ");
    return {
      said,
      html: `<p class="explorer-bits explorer-legend">${legend}</p>
        ${found.formats.map(row).join("")}${python(found.code)}`,
    };
  },
});
