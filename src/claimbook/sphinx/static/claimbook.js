// The ledger's filter, the lookup of errors, outputs to be predicted, and the lane whose outputs
// are shown. Without JavaScript everything is shown.

// A browser may keep nothing, and say so by an error.

function remembered(name) {
  try {
    return localStorage.getItem(`claimbook.${name}`) ?? localStorage.getItem(name);
  } catch {
    return null;
  }
}

function remember(name, value) {
  try {
    localStorage.setItem(`claimbook.${name}`, value);
  } catch { /* then it holds for this page */ }
}

function ledgerFilter() {
  const tables = [...document.querySelectorAll("table.ledger")];
  if (!tables.length) return;

  const bar = document.createElement("form");
  bar.className = "ledger-filter";
  bar.setAttribute("role", "search");
  bar.innerHTML = `
    <label>Words <input type="search" name="words" autocomplete="off"></label>
    <label>Verdict <select name="verdict"><option value="">all</option></select></label>
    <span role="status"></span>`;
  for (const word of ["confirms", "qualifies", "corrects", "updates", "remark", "open"]) {
    bar.verdict.add(new Option(word, word));
  }
  const first = tables[0].closest("section");
  first.before(bar);

  const show = () => {
    const words = bar.words.value.toLowerCase().split(/\s+/).filter(Boolean);
    let count = 0;
    for (const table of tables) {
      let inTable = 0;
      for (const row of table.tBodies[0].rows) {
        const text = row.textContent.toLowerCase();
        const fits = words.every((word) => text.includes(word))
          && (!bar.verdict.value || row.querySelector(`.relation-${bar.verdict.value}`));
        row.hidden = !fits;
        inTable += fits ? 1 : 0;
      }
      table.hidden = table.previousElementSibling.hidden = !inTable;  // with its question
      count += inTable;
    }
    bar.querySelector("[role=status]").textContent = `${count} entries`;
  };
  const follow = () => {  // a link to a verdict asks for all of its rows
    const asked = location.hash.match(/^#verdict-(\w+)$/);
    if (asked) bar.verdict.value = asked[1];
    show();
  };
  addEventListener("hashchange", follow);
  bar.addEventListener("input", show);
  bar.addEventListener("submit", (event) => event.preventDefault());
  follow();
}

// The same as claimbook/errors.py does: messages are compared by their words.

const MESSAGE = /(?:^|[\s\]])([A-Za-z_][\w.]*(?:Error|Exception|Warning))(?:: (.*)|$)/;
const WORD = /\b[a-z_][a-z_0-9]*(?:\.[a-z_][a-z_0-9]*)*/g;
const NO_WORDS = ["cpu", "cuda", "meta", "mps", "xpu"];
const STOP = /\.(?=[A-Z])/g;
const KEYS = /(?<=key\(s\) in state_dict:)[^\n]*|(?<=size mismatch for )\S+/g;
const ADVICE = "Search for `cuda|CUDA kernel errors|For debugging consider|Compile with `TORCH_USE";
const TRIGGERED = new RegExp(
  `\\s*\\(Triggered internally at .*?\\)|\\n(?:${ADVICE})[^\\n]*`, "g");

function readError(text) {
  const lines = text.replaceAll("\r", "").replace(TRIGGERED, "").trim().split("\n");
  for (let number = lines.length - 1; number >= 0; number--) {
    const found = lines[number].match(MESSAGE);
    if (found) {
      const whole = [found[2] ?? "", ...lines.slice(number + 1)].join("\n");
      const type = found[1].split(".").pop();
      return { type, words: wordsOf(whole, type) };
    }
  }
  return { type: "", words: wordsOf(lines.join("\n"), "") };
}

function wordsOf(text, type) {
  const told = text.replace(STOP, ". ").toLowerCase().replace(KEYS, "");
  const words = new Set(told.match(WORD) ?? []);
  NO_WORDS.forEach((word) => words.delete(word));
  if (!words.size && type) words.add(type.toLowerCase());
  return words;
}

const PART = 2, SOME = 3;

function likeErrors(wanted, among, limit) {
  const frequency = new Map();
  for (const { words } of among) {
    for (const word of words) frequency.set(word, (frequency.get(word) ?? 0) + 1);
  }
  const rarity = (word) => Math.log(1 + among.length / (frequency.get(word) ?? 1));
  const weight = (words) => [...words].reduce((sum, word) => sum + rarity(word), 0);
  const matches = [], asked = weight(wanted.words);
  for (const message of among) {
    const common = weight([...message.words].filter((word) => wanted.words.has(word)));
    if (!common) continue;
    const whole = weight(message.words);
    const size = wanted.words.size < SOME ? whole : Math.min(whole, PART * asked);
    let likeness = common / Math.sqrt(size * asked);
    likeness += message.type === wanted.type ? 0.1 : 0;
    matches.push({ message, likeness });
  }
  return matches.sort((a, b) => b.likeness - a.likeness).slice(0, limit);
}

function errorLookup() {
  const lists = [...document.querySelectorAll("ul.error-list")];
  if (!lists.length) return;
  const among = lists.flatMap((list) => {
    const type = list.closest("section").querySelector("h2, h3").firstElementChild.textContent;
    return [...list.children].map((item) => (
      { item, type, words: wordsOf(item.querySelector(".error-text").textContent, type) }));
  });

  const form = document.createElement("form");
  form.className = "error-lookup";
  form.setAttribute("role", "search");
  form.innerHTML = `
    <label for="traceback">Traceback</label>
    <textarea id="traceback" name="text" rows="6" spellcheck="false" autocomplete="off"
      placeholder="RuntimeError: The size of tensor a (3) must match …"></textarea>
    <p role="status"></p>
    <ul class="error-list"></ul>`;
  lists[0].closest("section").before(form);

  const results = form.querySelector("ul");
  const show = () => {
    const text = form.text.value;
    const found = text.trim() ? likeErrors(readError(text), among, 3) : [];
    const like = found.filter((match) => match.likeness >= 0.6);
    results.replaceChildren(...like.map(({ message }) => {
      const copy = message.item.cloneNode(true);
      copy.querySelector(".error-text").before(Object.assign(
        document.createElement("strong"), { textContent: message.type }));
      return copy;
    }));
    const words = new URLSearchParams({ q: text.trim().split("\n").pop() });
    const search = Object.assign(document.createElement("a"), {
      href: `search.html?${words}`, textContent: "Search the book for it" });
    form.querySelector("[role=status]").replaceChildren(...!text.trim() ? []
      : like.length ? [`${like.length} found`]
        : ["No claim prints an error like this one. ", search, "."]);
  };
  form.addEventListener("input", show);
  form.addEventListener("submit", (event) => event.preventDefault());
}

// What a reader may ask of a page stands under its title.

function pageTools() {
  const tools = document.createElement("div");
  tools.className = "page-tools";
  if (document.querySelectorAll(".claim").length > 1) document.querySelector("article h1").after(tools);
  return tools;
}

// Outputs, and what is said of them, may be hidden and shown one by one. The choice is kept.

function prediction(tools) {
  const outputs = [...document.querySelectorAll(".claim-session .claim-output")];
  if (!outputs.length) return;

  const label = document.createElement("label");
  label.className = "prediction";
  label.innerHTML = "<input type=\"checkbox\"> Predict: hide what is printed until asked";
  tools.append(label);
  const box = label.firstElementChild;
  box.checked = remembered("prediction") === "on";

  const explain = (card) => {
    const waits = [...card.querySelectorAll(".prediction-show")].some((button) => !button.hidden);
    card.querySelectorAll(".claim-shown").forEach((said) => { said.hidden = waits; });
  };
  for (const output of outputs) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "prediction-show";
    button.textContent = "Show what is printed";
    button.addEventListener("click", () => {
      output.hidden = false;
      button.hidden = true;
      output.tabIndex = -1;
      output.focus();
      explain(output.closest(".claim"));
    });
    output.before(button);
  }
  const apply = () => {
    remember("prediction", box.checked ? "on" : "off");
    outputs.forEach((output) => {
      output.hidden = box.checked;
      output.previousElementSibling.hidden = !box.checked;
    });
    document.querySelectorAll(".claim").forEach(explain);
  };
  box.addEventListener("change", apply);
  apply();
}

// Claims that are folded to their title: all are opened by a button and for paper, one by a link.

function details(tools) {
  const folded = [...document.querySelectorAll("details.detail")];
  if (!folded.length) return;

  const button = document.createElement("button");
  button.type = "button";
  const all = (open) => folded.forEach((each) => { each.open = open; });
  const say = () => {
    const closed = folded.filter((each) => !each.open).length;
    button.textContent = closed ? `Open all details (${closed})` : "Close all details";
  };
  button.addEventListener("click", () => all(folded.some((each) => !each.open)));
  folded.forEach((each) => each.addEventListener("toggle", say));
  tools.append(button);
  say();

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

// Where CPU and CUDA print different things, a switch on the claim says which is shown. It turns
// all claims, and the choice is kept.

function laneSwitches() {
  const claims = [...document.querySelectorAll(".claim:has(.on-cuda)")];
  const show = (lane) => {
    for (const claim of claims) {
      claim.dataset.lane = lane;
      claim.querySelector(`.lane-switch [value=${lane}]`).checked = true;
    }
  };
  for (const [number, claim] of claims.entries()) {
    const choice = ([lane, name]) => (
      `<label><input type="radio" name="lane-of-${number}" value="${lane}"> ${name}</label>`);
    const lanes = Object.entries({ cpu: "CPU", cuda: "CUDA" });
    const box = document.createElement("fieldset");
    box.className = "lane-switch";
    box.innerHTML = `<legend>Printed on</legend>${lanes.map(choice).join("")}`;
    box.addEventListener("change", (event) => {
      remember("lane", event.target.value);
      show(event.target.value);
    });
    claim.querySelector(".claim-session:has(.on-cuda)").before(box);
  }
  show(remembered("lane") === "cuda" ? "cuda" : "cpu");
}

// Who follows a route finds its next page at the end of each. What was read is kept here alone.

function routes() {
  if (typeof bookRoutes === "undefined") return;
  const root = new URL(document.documentElement.dataset.content_root, location);
  const address = (name) => new URL(`${name}.html`, root).href;
  const here = location.href.split("#")[0];
  const read = new Set((remembered("read") ?? "").split(" ").filter(Boolean));

  for (const [number, { title, on, stops }] of bookRoutes.entries()) {
    const place = stops.findIndex(([name]) => address(name) === here);
    if (place >= 0 && remembered("route") === title) follow(title, on, stops, place);
    if (address(on) !== here) continue;
    const list = document.querySelectorAll("ol.route")[
      bookRoutes.slice(0, number).filter((other) => other.on === on).length];
    [...list.children].forEach((item, index) => {
      item.classList.toggle("was-read", read.has(stops[index][0]));
    });
    list.addEventListener("click", (event) => {
      if (event.target.closest("a")) remember("route", title);
    });
  }

  function follow(title, on, stops, place) {
    read.add(stops[place][0]);
    remember("read", [...read].join(" "));
    const link = (stop, words) => (stop
      ? Object.assign(document.createElement("a"), { href: address(stop[0]), textContent: words })
      : "");
    const bar = document.createElement("nav");
    bar.className = "route-bar";
    bar.setAttribute("aria-label", `Route: ${title}`);
    const name = link([on], title);
    const before = stops[place - 1], next = stops[place + 1];
    bar.append(name, ` · ${place + 1} of ${stops.length}`,
      link(before, before && `← ${before[1]}`), link(next, next && `${next[1]} →`));
    document.querySelector("article").append(bar);
  }
}

// Code that is wider than its box can be scrolled with the keyboard, from when it is shown.

const widths = new ResizeObserver((changes) => {
  for (const { target: code } of changes) {
    if (code.scrollWidth > code.clientWidth) code.tabIndex = 0;
    else code.removeAttribute("tabindex");
  }
});

function watchWidths(place) {
  place.querySelectorAll("pre").forEach((code) => widths.observe(code));
}

ledgerFilter();
errorLookup();
const tools = pageTools();
prediction(tools);
details(tools);
laneSwitches();
watchWidths(document);
addEventListener("DOMContentLoaded", routes);
