// On all pages: filters long lists, hides outputs to be predicted, switches lanes, follows routes; and
// what the other scripts share. Without JavaScript everything is shown. The controls are already in
// the page's HTML, from sphinx/controls.py.

function element(name, properties, ...parts) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...parts);
  return made;
}

// The folder of the book.

const BOOK = new URL(document.documentElement.dataset.content_root, location);

// Data files are scripts, so that a page can load them from a file:// address.

function addScript(address, properties) {
  document.head.append(element("script", { src: new URL(address, BOOK).href, ...properties }));
}

// localStorage throws where the browser forbids storage. `remember` returns whether it is kept.

function remembered(name) {
  try {
    return localStorage.getItem(`claimbook.${name}`);
  } catch {
    return null;
  }
}

function remember(name, value) {
  try {
    localStorage.setItem(`claimbook.${name}`, value);
    return true;
  } catch {
    return false;
  }
}

function listFilter() {
  const bar = document.querySelector(".list-filter");
  if (!bar) return;
  const rows = [...document.querySelectorAll(
    "table.ledger tbody tr, ul.claim-index > li, .api-list > li")];
  const texts = rows.map((row) => row.textContent.toLowerCase());
  const groups = [...document.querySelectorAll("article section")].filter((each) => !each.contains(bar));

  const show = () => {
    const words = bar.words.value.toLowerCase().split(/\s+/).filter(Boolean);
    const verdict = bar.verdict?.value;
    rows.forEach((row, number) => {
      row.hidden = !words.every((word) => texts[number].includes(word))
        || (verdict && !row.querySelector(`.relation-${verdict}`));
    });
    for (const table of document.querySelectorAll("table.ledger")) {  // together with its question
      table.hidden = table.previousElementSibling.hidden = !table.querySelector("tbody tr:not([hidden])");
    }
    for (const group of groups) {
      group.hidden = !rows.some((row) => !row.hidden && group.contains(row));
    }
    const count = rows.filter((row) => !row.hidden).length;
    bar.querySelector("[role=status]").textContent = `${count} of ${rows.length}`;
  };
  const follow = () => {  // a link to a verdict selects it in the filter
    const asked = location.hash.match(/^#verdict-(\w+)$/);
    if (asked) bar.verdict.value = asked[1];
    show();
  };
  addEventListener("hashchange", follow);
  bar.addEventListener("input", show);
  bar.addEventListener("submit", (event) => event.preventDefault());
  follow();
}

// Hides outputs and the text about them, to be shown one by one; the choice is remembered. Where a
// lesson asks for a prediction, outputs start hidden, and so do the titles that give them away.

const PRINTED_ON = { cpu: ":not(.on-cuda)", cuda: ":not(.on-cpu)" };

function prediction() {
  const box = document.querySelector(".page-tools input");
  if (!box) return;
  const outputs = [...document.querySelectorAll(".claim-session .claim-output")];
  box.checked = remembered("prediction") === "on";

  const explain = (card) => {
    const lane = PRINTED_ON[card.dataset.lane] ?? "";
    const waits = card.querySelector(`.claim-output[hidden]${lane}`) !== null;
    const told = card.closest("#predict") ? ".claim-shown, .claim-title" : ".claim-shown";
    card.querySelectorAll(told).forEach((said) => { said.hidden = waits; });
  };
  const explainAll = () => document.querySelectorAll(".claim").forEach(explain);
  for (const output of outputs) {
    const show = () => {
      output.hidden = false;
      output.previousElementSibling.hidden = true;
      output.tabIndex = -1;
      output.focus();
      explain(output.closest(".claim"));
    };
    const properties = { type: "button", className: "prediction-show", onclick: show };
    output.before(element("button", properties, "Show what is printed"));
  }
  const apply = () => {
    remember("prediction", box.checked ? "on" : "off");
    outputs.forEach((output) => {
      output.hidden = box.checked || Boolean(output.closest("#predict"));
      output.previousElementSibling.hidden = !output.hidden;
    });
  };
  box.addEventListener("change", apply);
  addEventListener("change", explainAll);  // also if another lane is chosen
  apply();
  explainAll();
}

// Folded claims and answers: a button opens all, as does printing; a link opens its target.

function details() {
  const folded = [...document.querySelectorAll("details.detail, details.answer")];
  const button = document.querySelector(".page-tools button");
  if (!button) return;
  const name = folded[0].matches(".answer") ? "answers" : "details";
  const all = (open) => folded.forEach((each) => { each.open = open; });
  const say = () => {
    const closed = folded.filter((each) => !each.open).length;
    button.textContent = closed ? `Open all ${name} (${closed})` : `Close all ${name}`;
  };
  button.addEventListener("click", () => all(folded.some((each) => !each.open)));
  folded.forEach((each) => each.addEventListener("toggle", say));

  let wereClosed = [];
  addEventListener("beforeprint", () => {
    wereClosed = folded.filter((each) => !each.open);
    all(true);
  });
  addEventListener("afterprint", () => wereClosed.forEach((each) => { each.open = false; }));

  const follow = () => {
    const card = document.getElementById(location.hash.slice(1))?.closest("details.detail");
    if (card) {
      card.open = true;
      card.scrollIntoView();
    }
  };
  addEventListener("hashchange", follow);
  follow();
}

// Where CPU and CUDA outputs differ, a switch on the claim selects one for all claims; the choice is
// remembered.

function laneSwitches() {
  const claims = [...document.querySelectorAll(".claim:has(.on-cuda)")];
  const show = (lane) => {
    for (const claim of claims) {
      claim.dataset.lane = lane;
      claim.querySelector(`.lane-switch [value=${lane}]`).checked = true;
    }
  };
  for (const [number, claim] of claims.entries()) {
    const choice = (value, name) => element("label", {},
      element("input", { type: "radio", name: `lane-of-${number}`, value }), ` ${name}`);
    const box = element("fieldset", { className: "lane-switch" },
      element("legend", {}, "Printed on"), choice("cpu", "CPU"), choice("cuda", "CUDA"));
    box.addEventListener("change", (event) => {
      remember("lane", event.target.value);
      show(event.target.value);
    });
    claim.querySelector(".claim-session:has(.on-cuda)").before(box);
  }
  show(remembered("lane") === "cuda" ? "cuda" : "cpu");
}

// Shows readers who follow a route the next page, at the end of each. What was read is stored only
// in the browser.

function routes() {
  if (typeof bookRoutes === "undefined") return;
  // The name of this page. A server may leave out `index.html` or `.html`.
  const here = location.pathname.slice(BOOK.pathname.length)
    .replace(/\.html$/, "").replace(/(^|\/)$/, "$1index");
  const address = (name) => new URL(`${name}.html`, BOOK).href;
  const read = new Set((remembered("read") ?? "").split(" ").filter(Boolean));
  const lists = [...document.querySelectorAll("ol.route")];

  for (const { title, on, stops } of bookRoutes) {
    const place = stops.findIndex(([name]) => name === here);
    if (place >= 0 && remembered("route") === title) follow(title, on, stops, place);
    const list = on === here && lists.shift();
    if (!list) continue;
    [...list.children].forEach((item, index) => {
      item.classList.toggle("was-read", read.has(stops[index][0]));
    });
    list.addEventListener("click", (event) => {
      if (event.target.closest("a")) remember("route", title);
    });
  }

  function follow(title, on, stops, place) {
    read.add(here);
    remember("read", [...read].join(" "));
    const link = (name, words) => element("a", { href: address(name) }, words);
    const before = stops[place - 1], next = stops[place + 1];
    const bar = element("nav", { className: "route-bar", ariaLabel: `Route: ${title}` },
      link(on, title), ` · ${place + 1} of ${stops.length}`,
      before ? link(before[0], `← ${before[1]}`) : "", next ? link(next[0], `${next[1]} →`) : "");
    document.querySelector("article").append(bar);
  }
}

// Scrolls the sidebar to the current page.

function showPlace() {
  const here = document.querySelector(".sidebar-tree .current-page > a");
  const contents = here?.closest(".sidebar-scroll");
  if (!contents) return;
  const { top, bottom } = here.getBoundingClientRect(), box = contents.getBoundingClientRect();
  if (bottom > box.bottom) contents.scrollTop += (top + bottom - box.top - box.bottom) / 2;
}

// Makes boxes with overflow scrollable with the keyboard.

const widths = new ResizeObserver((changes) => {
  for (const { target: box } of changes) {
    if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
    else box.removeAttribute("tabindex");
  }
});

function watchWidths(place) {
  place.querySelectorAll("pre, .table-wrapper").forEach((box) => widths.observe(box));
}

// Removes the blank lines around and between boxes that the copy button includes.

addEventListener("copy", (event) => {
  if (!event.target.matches?.("textarea[readonly]")) return; // the copy button's hidden one
  const text = event.target.value.replace(/^(\s*\n)+|\s+$/g, "").replace(/\n{4,}/g, "\n\n");
  event.clipboardData.setData("text/plain", text);
  event.preventDefault();
});

// A box of one line keeps no line breaks, without which a traceback is hard to read: they become
// marks.

const BREAK = " \u21b5";

function oneLine(text) {
  return text.trim().replaceAll(/\r?\n/g, BREAK);
}

addEventListener("paste", (event) => {
  const box = event.target, text = oneLine(event.clipboardData.getData("text/plain"));
  if (!box.matches?.("input[name=q]") || !text.includes(BREAK)) return;
  box.setRangeText(text, box.selectionStart, box.selectionEnd, "end");
  box.dispatchEvent(new Event("input", { bubbles: true }));
  event.preventDefault();
});

listFilter();
laneSwitches();
prediction();
details();
showPlace();
watchWidths(document);
addEventListener("DOMContentLoaded", routes);
