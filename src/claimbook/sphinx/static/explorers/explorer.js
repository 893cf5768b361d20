// What the explorers have in common: a form, an answer under it, and the case in the address.
// A case is #explore-NAME?field=value&…; what a page's own explorer shows first is its data-start.

const explorers = (() => {
  const SIGNS = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };
  const escaped = (text) => String(text).replace(/[&<>"]/g, (sign) => SIGNS[sign]);
  const code = (text) => `<code>${escaped(text)}</code>`;
  const error = (text) => `<pre class="explorer-error">${escaped(text)}</pre>`;

  const UNITS = ["bytes", "kB", "MB", "GB", "TB", "PB"];
  function bytes(count) {
    if (count < 1000) return `${count} byte${count === 1 ? "" : "s"}`;
    const power = Math.min(Math.floor(Math.log10(count) / 3), UNITS.length - 1);
    return `${+(count / 1000 ** power).toPrecision(3)} ${UNITS[power]}`;
  }

  // rows of cells, each HTML; the first cell of a row is its header.
  function table(caption, head, rows, kind = "") {
    const title = (cell) => (cell ? `<th scope="col">${cell}</th>` : "<td></td>");
    const line = ([first, ...cells]) => `<tr><th scope="row">${first}</th>${
      cells.map((cell) => `<td>${cell}</td>`).join("")}</tr>`;
    return `<div class="explorer-wide" role="region" tabindex="0" aria-label="${escaped(caption)}">
      <table class="explorer-table ${kind}"><caption>${escaped(caption)}</caption>
      <thead><tr>${head.map(title).join("")}</tr></thead>
      <tbody>${rows.map(line).join("")}</tbody></table></div>`;
  }

  const product = (sizes) => sizes.reduce((all, size) => all * size, 1);
  const list = (sizes) => `[${sizes.join(", ")}]`;
  const tuple = (sizes) => `(${sizes.join(", ")}${sizes.length === 1 ? "," : ""})`;

  // The indices of a shape in their order; a tensor without dimensions has one.
  const indices = (shape) => shape.reduce((found, size) => (
    found.flatMap((index) => Array.from({ length: size }, (_, i) => [...index, i]))), [[]]);

  // Numbers as rows of cells, for more than two dimensions plane by plane. about: flat index →
  // attributes of its cell.
  function grid(label, shape, values, about = () => "") {
    const sizes = shape.length > 1 ? shape : [1, ...shape, ...Array(1 - shape.length).fill(1)];
    const [rows, columns] = sizes.slice(-2);
    const planes = product(sizes.slice(0, -2));
    const places = indices(sizes.slice(0, -2));
    const drawn = Array.from({ length: planes }, (_, plane) => {
      const title = planes > 1 ? `${label}[${places[plane].join(", ")}]` : label;
      const cells = (row) => Array.from({ length: columns }, (_, column) => {
        const flat = (plane * rows + row) * columns + column;
        return `<td ${about(flat)}>${escaped(values[flat])}</td>`;
      }).join("");
      const lines = Array.from({ length: rows }, (_, row) => `<tr>${cells(row)}</tr>`).join("");
      return `<table class="explorer-grid"><caption>${escaped(title)}</caption>${lines}</table>`;
    });
    return `<div class="explorer-grids" role="group" tabindex="0" aria-label="${escaped(label)}">${
      drawn.join("")}</div>`;
  }

  // The control of a field: a line, lines (rows), one of some choices, or a slider of steps.
  function control({ rows, choices, slide }, about) {
    if (choices) {
      const option = ([value, label]) => `<option value="${escaped(value)}">${escaped(label)}</option>`;
      return `<select ${about}>${Object.entries(choices).map(([group, all]) => (
        `<optgroup label="${escaped(group)}">${all.map(option).join("")}</optgroup>`)).join("")}</select>`;
    }
    if (slide) {
      const button = (move, sign, label) => (
        `<button type="button" data-move="${move}" aria-label="${label}">${sign}</button>`);
      return `<span class="explorer-slide">${button(-1, "‹", "One step back")}
        <input type="range" min="0" max="0" ${about}>${button(1, "›", "One step on")}</span>`;
    }
    return rows ? `<textarea ${about} rows="${rows}"></textarea>` : `<input type="text" ${about}>`;
  }

  function unlessUnread(found, otherwise = () => null) {
    try {
      return found();
    } catch (problem) {
      if (problem instanceof explorers.Unread) return otherwise(problem);
      throw problem;
    }
  }

  // fields: { name: { label, hint, and rows, choices or slide } }; examples: { label: state };
  // tools: buttons that add a line to a field, each from what `at(form)` finds;
  // show(state) → { said, html, steps }, or an Error for what is no case.
  function start(name, { fields, examples, tools, show }) {
    const place = document.querySelector(`.explorer[data-explorer="${name}"]`);
    const names = Object.keys(fields);
    const anchor = `explore-${name}`;
    const inputs = names.map((field) => {
      const { label, hint } = fields[field];
      const about = `id="${anchor}-${field}" name="${field}" aria-describedby="${anchor}-${field}-hint"
        autocomplete="off" autocapitalize="off" spellcheck="false"`;
      return `<p class="explorer-field"><label for="${anchor}-${field}">${label}</label>
        ${control(fields[field], about)}
        <span class="explorer-hint" id="${anchor}-${field}-hint">${hint ?? ""}</span></p>`;
    });
    const slider = names.find((field) => fields[field].slide);
    const buttons = (kind, all) => Object.keys(all).map((label) => (
      `<button type="button" data-${kind}="${escaped(label)}">${escaped(label)}</button>`)).join("");
    place.insertAdjacentHTML("afterbegin", `
      <form class="explorer-form">${inputs.join("")}</form>
      ${tools ? `<p class="explorer-buttons" role="group" aria-label="Add">${
        tools.label} ${buttons("tool", tools.lines)}</p>` : ""}
      <p class="explorer-buttons" role="group" aria-label="Examples">Try ${
        buttons("example", examples)}</p>
      <p class="explorer-said" role="status"></p>
      <div class="explorer-shown"></div>
      <p class="explorer-link"><a>Link to this case</a></p>`);
    const form = place.querySelector("form");
    const said = place.querySelector(".explorer-said");
    const link = place.querySelector(".explorer-link a");

    // A slider at its end says nothing: all steps are shown, however many there are.
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
      const shown = unlessUnread(() => show(state),
        (problem) => ({ said: escaped(problem.message), html: "" }));
      place.classList.toggle("explorer-raises", Boolean(shown.raises));
      said.innerHTML = shown.said;
      const { key } = document.activeElement.dataset;
      place.querySelector(".explorer-shown").innerHTML = shown.html;
      if (key) place.querySelector(`[data-key="${key}"]`)?.focus();
      if (slider) slideTo(state, shown);
      for (const cell of place.querySelectorAll("[data-pick]")) cell.title = cell.dataset.pick;
    };
    const fill = (state) => {
      for (const field of names) {
        if (field === slider) form[field].max = 999; // as far as any: the answer says how far
        form[field].value = state[field] ?? (field === slider ? 999 : "");
        if (form[field].selectedIndex < 0) form[field].selectedIndex = 0;
      }
      draw();
    };
    const read = (query) => Object.fromEntries(new URLSearchParams(query));
    const follow = () => {
      const [asked, query] = location.hash.slice(1).split(/\?(.*)/s);
      if (asked !== anchor || query === undefined) return;
      fill(read(query));
      const lead = () => place.scrollIntoView({ behavior: "instant" });
      if (document.readyState === "complete") lead();
      else addEventListener("load", lead); // before, the browser still leads elsewhere itself
    };
    const keep = () => history.replaceState(null, "", link.href);

    form.addEventListener("input", () => { draw(); keep(); });
    form.addEventListener("submit", (event) => event.preventDefault());
    place.addEventListener("click", ({ target }) => {
      const { example, tool, copy, pick, move, field = "index" } = target.dataset;
      if (copy !== undefined) {
        navigator.clipboard?.writeText(copy);
        target.textContent = "copied";
      }
      if (example !== undefined) fill(examples[example]);
      if (tool !== undefined) {
        const lines = form[tools.field].value.trimEnd();
        const line = unlessUnread(() => tools.lines[tool](tools.at(form)));
        if (line) form[tools.field].value = (lines && `${lines}\n`) + line;
        draw();
      }
      if (pick !== undefined) {
        form[field].value = pick;
        draw();
      }
      if (move !== undefined) {
        form[slider].value = +form[slider].value + +move;
        draw();
      }
      if ([example, tool, pick, move].some((one) => one !== undefined)) keep();
    });
    addEventListener("hashchange", follow);
    fill(read(place.dataset.start));
    follow();
  }

  // Python to copy.
  function python(text) {
    return `<div class="explorer-python"><pre>${escaped(text)}</pre>
      <button type="button" data-copy="${escaped(text)}">copy</button></div>`;
  }

  class Unread extends Error {}

  // "4, 1" or "(4, 1)" → [4, 1]
  function shape(text, what, { rank = 5, most = 999 } = {}) {
    const inner = text.trim().replace(/^(torch\.Size)?\s*[([]*(.*?)[\])]*$/s, "$2");
    const parts = inner.split(/[\s,x×]+/).filter(Boolean);
    if (!parts.every((part) => /^\d+$/.test(part))) {
      throw new Unread(`${what}: sizes are whole numbers, separated by commas, for example 4, 1.`);
    }
    if (parts.length > rank) throw new Unread(`${what}: up to ${rank} dimensions are shown here.`);
    const sizes = parts.map(Number);
    if (sizes.some((size) => size > most)) {
      throw new Unread(`${what}: sizes up to ${most} are shown here.`);
    }
    return sizes;
  }

  return {
    start, table, indices, grid, python, code, error, escaped, bytes, shape, product, list, tuple,
    Unread,
  };
})();
