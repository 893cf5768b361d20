// Shared by the explorers: a form, the answer below it, and the case in the address.
// A case is #explore-NAME?field=value&…; the first one is in data-start.

const explorers = (() => {
  const { product, list, tuple, Unread, unread, instead } = rule;
  const SIGNS = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };
  const escaped = (text) => String(text).replace(/[&<>"]/g, (sign) => SIGNS[sign]);
  const code = (text) => `<code>${escaped(text)}</code>`;
  const error = (text) => `<pre class="explorer-error">${escaped(text)}</pre>`;

  const and = new Intl.ListFormat("en-GB"); // without a comma before the "and"
  const among = (all) => and.format(all);

  const UNITS = ["bytes", "kB", "MB", "GB", "TB", "PB"];
  function bytes(count) {
    if (count < 1000) return `${count} byte${count === 1 ? "" : "s"}`;
    const power = Math.min(Math.floor(Math.log10(count) / 3), UNITS.length - 1);
    return `${+(count / 1000 ** power).toPrecision(3)} ${UNITS[power]}`;
  }

  // rows: cells of HTML; the first cell of a row is its header. On a phone, the cells of a stacked
  // table are below each other, each with its title; ARIA roles keep it a table.
  function table(caption, head, rows, kind = "") {
    const title = (cell) => (cell ? `<th scope="col" role="columnheader">${cell}</th>` : "<td></td>");
    const data = (cell, at) => (
      `<td role="cell" data-title="${cell === "" ? "" : escaped(head[at + 1])}">${cell}</td>`);
    const line = ([first, ...cells]) => (
      `<tr role="row"><th scope="row" role="rowheader">${first}</th>${cells.map(data).join("")}</tr>`);
    return `<div class="explorer-wide" role="region" tabindex="0" aria-label="${escaped(caption)}">
      <table class="explorer-table ${kind}" role="table"><caption>${escaped(caption)}</caption>
      <thead role="rowgroup"><tr role="row">${head.map(title).join("")}</tr></thead>
      <tbody role="rowgroup">${rows.map(line).join("")}</tbody></table></div>`;
  }

  // All indices of a shape, in order; a 0-d tensor has one.
  const indices = (shape) => shape.reduce((found, size) => (
    found.flatMap((index) => Array.from({ length: size }, (_, i) => [...index, i]))), [[]]);

  // Numbers as rows of cells, in planes for more than two dimensions. about: flat index → attributes
  // of its button; without it, there are no buttons.
  function grid(label, shape, values, about) {
    const sizes = shape.length > 1 ? shape : [1, ...shape, ...Array(1 - shape.length).fill(1)];
    const [rows, columns] = sizes.slice(-2);
    const planes = product(sizes.slice(0, -2));
    const places = indices(sizes.slice(0, -2));
    const drawn = Array.from({ length: planes }, (_, plane) => {
      const title = planes > 1 ? `${label}[${places[plane].join(", ")}]` : label;
      const cells = (row) => Array.from({ length: columns }, (_, column) => {
        const flat = (plane * rows + row) * columns + column;
        const value = escaped(values[flat]);
        return `<td>${about ? `<button type="button" ${about(flat)}>${value}</button>` : value}</td>`;
      }).join("");
      const lines = Array.from({ length: rows }, (_, row) => `<tr>${cells(row)}</tr>`).join("");
      return `<table class="explorer-grid"><caption>${escaped(title)}</caption>${lines}</table>`;
    });
    const moves = about ? `data-columns="${columns}"` : 'tabindex="0"';
    return `<div class="explorer-grids" role="group" ${moves} aria-label="${escaped(label)}">${
      drawn.join("")}</div>`;
  }

  // Python to copy.
  function python(text) {
    return `<div class="explorer-python"><pre>${escaped(text)}</pre>
      <button type="button" data-copy="${escaped(text)}">copy</button></div>`;
  }

  // The control of a field: a line, several lines (rows), a choice, or a slider of steps.
  function control({ rows, choices, slide }, about) {
    if (choices) {
      const option = ([value, label]) => `<option value="${escaped(value)}">${escaped(label)}</option>`;
      return `<select ${about}>${Object.entries(choices).map(([group, all]) => (
        `<optgroup label="${escaped(group)}">${all.map(option).join("")}</optgroup>`)).join("")}</select>`;
    }
    if (slide) {
      const button = (move, sign, label) => (
        `<button type="button" data-move="${move}" aria-label="${label}">${sign}</button>`);
      return `<span class="explorer-slide">${button(-999, "«", "To the first step")}
        ${button(-1, "‹", "One step back")}<input type="range" min="0" max="0" ${about}>
        ${button(1, "›", "One step forward")}</span>`;
    }
    return rows ? `<textarea ${about} rows="${rows}"></textarea>` : `<input type="text" ${about}>`;
  }

  // The answer of a rule; throws if the rule could not read the input.
  const readable = (found) => (found.unread ? unread(found.unread) : found);

  // Many buttons are one tab stop; the arrow keys move between them.
  function moveAmongButtons(place) {
    const beside = ({ target }) => [
      ...target.closest("[data-columns]")?.querySelectorAll("button") ?? []];
    place.addEventListener("focusin", (event) => {
      for (const button of beside(event)) button.tabIndex = button === event.target ? 0 : -1;
    });
    place.addEventListener("keydown", (event) => {
      const buttons = beside(event);
      const at = buttons.indexOf(event.target);
      if (at < 0) return;
      const columns = +event.target.closest("[data-columns]").dataset.columns;
      const to = buttons[{
        ArrowLeft: at - 1, ArrowRight: at + 1, ArrowUp: at - columns, ArrowDown: at + columns,
        Home: 0, End: buttons.length - 1,
      }[event.key]];
      if (!to) return;
      event.preventDefault();
      to.focus();
    });
  }

  async function copyText(button, text) {
    const label = button.dataset.label ??= button.textContent; // it may still say "copied"
    try {
      await navigator.clipboard.writeText(text);
      button.textContent = "copied";
    } catch { // without https or permission
      button.textContent = "not allowed";
    }
    setTimeout(() => { button.textContent = label; }, 2000);
  }

  // The HTML of an explorer: its form, and the elements below it.
  function written(anchor, { fields, examples, tools }) {
    const inputs = Object.entries(fields).map(([field, about]) => {
      const id = `${anchor}-${field}`;
      const attributes = `id="${id}" name="${field}" aria-describedby="${id}-hint"
        autocomplete="off" autocapitalize="off" spellcheck="false"`;
      return `<p class="explorer-field"><label for="${id}">${about.label}</label>
        ${control(about, attributes)}
        <span class="explorer-hint" id="${id}-hint">${about.hint ?? ""}</span></p>`;
    });
    const buttons = (kind, label, all) => `<p class="explorer-buttons" role="group"
      aria-label="${label}">${label} ${Object.keys(all).map((one) => (
      `<button type="button" data-${kind}="${escaped(one)}">${escaped(one)}</button>`)).join("")}</p>`;
    return `${buttons("example", "Try", examples)}
      <form class="explorer-form">${inputs.join("")}</form>
      ${tools ? buttons("tool", "Add", tools.lines) : ""}
      <p class="explorer-said" role="status"></p>
      <div class="explorer-shown"></div>
      <p class="explorer-buttons explorer-link"><a>Link to this case</a>
        <button type="button" data-link>copy the link</button></p>`;
  }

  // fields: { name: { label, hint, and rows, choices or slide } }; examples: { label: state };
  // tools: buttons that append a line to a field, made from the result of `at(form)`;
  // show(state, width) → { said, error, html, code, steps, stepped }; it throws Unread for what is no
  // case.
  function start(name, { fields, examples, tools, show }) {
    const place = document.querySelector(`.explorer[data-explorer="${name}"]`);
    const names = Object.keys(fields);
    const anchor = `explore-${name}`;
    place.insertAdjacentHTML("afterbegin", written(anchor, { fields, examples, tools }));
    const form = place.querySelector("form");
    const answer = place.querySelector(".explorer-shown");
    const link = place.querySelector(".explorer-link a");
    const slider = names.find((field) => fields[field].slide);
    let width = answer.clientWidth;

    // A slider at its end is not part of the address: all steps are shown, however many.
    const valued = (field) => (
      field === slider && +form[field].value >= +form[field].max ? "" : form[field].value);
    const slideTo = (state, { steps = 0, stepped = "" }) => {
      form[slider].max = steps;
      form[slider].value = state[slider] || steps;
      form[slider].setAttribute("aria-valuetext", stepped);
    };
    const draw = () => {
      const state = Object.fromEntries(names.map((field) => [field, valued(field)]));
      const query = new URLSearchParams(names.filter((n) => state[n]).map((n) => [n, state[n]]));
      link.href = `#${anchor}?${query}`;
      const shown = instead(Unread, ({ message }) => ({ said: escaped(message) }), show)(state, width);
      place.classList.toggle("explorer-raises", Boolean(shown.error));
      place.querySelector(".explorer-said").innerHTML = shown.said;
      const { key } = document.activeElement.dataset;
      answer.innerHTML = (shown.error ? error(shown.error) : "") + (shown.html ?? "")
        + (shown.code ? python(shown.code) : "");
      if (key) place.querySelector(`[data-key="${key}"]`)?.focus();
      if (slider) slideTo(state, shown);
    };
    const keep = () => history.replaceState(null, "", link.href);
    const change = () => {
      draw();
      keep();
    };
    const fill = (state) => {
      for (const field of names) {
        if (field === slider) form[field].max = 999; // the answer sets the real maximum
        form[field].value = state[field] ?? (field === slider ? 999 : "");
        if (form[field].selectedIndex < 0) form[field].selectedIndex = 0;
      }
      draw();
    };
    const read = (text) => Object.fromEntries(new URLSearchParams(text));
    const follow = () => {
      const [asked, query] = location.hash.slice(1).split(/\?(.*)/s);
      if (asked !== anchor || query === undefined) return;
      fill(read(query));
      const lead = () => place.scrollIntoView({ behavior: "instant" });
      if (document.readyState === "complete") lead();
      else addEventListener("load", lead); // earlier, the browser may still scroll
    };
    const addLine = (tool) => {
      const lines = form[tools.field].value.trimEnd();
      const line = instead(Unread, () => null, () => tools.lines[tool](tools.at(form)))();
      if (line) form[tools.field].value = (lines && `${lines}\n`) + line;
      change();
    };
    const set = (field, value) => {
      form[field].value = value;
      change();
    };

    form.addEventListener("input", change);
    form.addEventListener("submit", (event) => event.preventDefault());
    place.addEventListener("click", ({ target }) => {
      const { example, tool, copy, pick, move, field } = target.dataset;
      if (copy !== undefined) copyText(target, copy);
      if (target.dataset.link !== undefined) copyText(target, link.href);
      if (example !== undefined) {
        fill(examples[example]);
        keep();
      }
      if (tool !== undefined) addLine(tool);
      if (pick !== undefined) set(field, pick);
      if (move !== undefined) set(slider, +form[slider].value + +move);
    });
    moveAmongButtons(place);
    addEventListener("hashchange", follow);
    new ResizeObserver(() => {
      if (answer.clientWidth === width) return;
      width = answer.clientWidth;
      draw();
    }).observe(place);
    fill(read(place.dataset.start));
    follow();
  }

  // "4, 1" or "(4, 1)" → [4, 1]
  function shape(text, what, { rank = 5, most = 999 } = {}) {
    const inner = text.trim().replace(/^(torch\.Size)?\s*[([]*(.*?)[\])]*$/s, "$2");
    const parts = inner.split(/[\s,x×]+/).filter(Boolean);
    if (!parts.every((part) => /^\d+$/.test(part))) {
      unread(`${what}: sizes are whole numbers, separated by commas, for example 4, 1.`);
    }
    if (parts.length > rank) unread(`${what}: at most ${rank} dimensions can be shown here.`);
    const sizes = parts.map(Number);
    if (sizes.some((size) => size > most)) {
      unread(`${what}: sizes up to ${most} can be shown here.`);
    }
    return sizes;
  }

  return {
    start, table, indices, grid, code, error, escaped, among, bytes, shape, product, list, tuple,
    readable, unread,
  };
})();
