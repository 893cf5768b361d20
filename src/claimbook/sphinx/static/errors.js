// The lookup of errors, on its own page and in the search; the same algorithm as in
// claimbook/exports/lookup.py, with the patterns and words from the data.

class ErrorLookup {
  constructor({ patterns, numbers, everyday, messages, sections }) {
    this.patterns = patterns;
    this.numbers = numbers;
    this.sections = sections;
    this.messages = messages.map((message) => ({ ...message, ...this.marks(message.words.split(" ")) }));
    this.all = everyday.messages + messages.length;
    this.everyday = new Map(Object.entries(everyday.marks));
    this.having = new Map();
    this.messages.forEach(({ marks }, number) => {
      for (const mark of marks) {
        if (!this.having.has(mark)) this.having.set(mark, []);
        this.having.get(mark).push(number);
      }
    });
    this.whole = this.messages.map(({ marks }) => this.weight(marks));
  }

  rarity(mark) {
    const count = (this.everyday.get(mark) ?? 0) + (this.having.get(mark)?.length ?? 0);
    return Math.log(1 + this.all / Math.max(1, count));
  }

  weight(marks) {
    return [...marks].reduce((sum, mark) => sum + this.rarity(mark), 0);
  }

  // Each message that shares marks with a text: its number, their weight, that of the heaviest.
  common(marks) {
    const shared = new Map();
    for (const mark of marks) {
      const rarity = this.rarity(mark);
      for (const number of this.having.get(mark) ?? []) {
        const [sum, heaviest] = shared.get(number) ?? [0, 0];
        shared.set(number, [sum + rarity, Math.max(heaviest, rarity)]);
      }
    }
    return [...shared].sort(([a], [b]) => a - b);
  }

  // Whether a text looks printed by a program.
  looks(text) {
    const said = this.decoded(text);
    return this.patterns.looks.some((pattern) => new RegExp(pattern, "m").test(said));
  }

  // The address of the section that explains a message.
  address(message) {
    return this.sections[message.sections[0]]?.[0];
  }

  // The error that a text is about: the last one, without what only follows it.
  read(text) {
    return this.readings(text).next().value;
  }

  // What that error may be, likeliest first: the last, its first line alone, its first two as one,
  // and those before it.
  * readings(text) {
    const { echoes, unnamed, traceback, readings } = this.patterns;
    const whole = this.decoded(text);
    let lines, named, failed;
    for (const said of [whole.replace(new RegExp(echoes, "g"), ""), whole]) {
      lines = said.split("\n");
      named = lines.map((line, number) => ({ ...this.typed(line), number })).filter(({ type }) => type);
      failed = named.filter(({ type }) => !type.endsWith("Warning"));
      if (failed.length) break;
      const ends = unnamed.map((each) => said.match(new RegExp(each))).filter(Boolean);
      yield* ends.map(([, end]) => this.message("", end));
    }
    if (!named.length) yield this.message("", whole);
    const begins = new Set(named.map(({ number }) => number)), read = new Set();
    for (const { type, text: first, number } of (failed.length ? failed : named).slice(-readings).reverse()) {
      let end = number + 1;
      while (end < lines.length && !begins.has(end) && !lines[end].includes(traceback)) end += 1;
      const said = this.shown([first, ...lines.slice(number + 1, end)].join("\n"));
      const each = said.split("\n");
      for (const part of [said, each[0], each.slice(0, 2).join("")]) {
        const message = this.message(type.split(".").pop(), part);
        if (!read.has(message.words.join(" "))) yield message;
        read.add(message.words.join(" "));
      }
    }
  }

  // A text as it was before a terminal, a web page or a log encoded it.
  decoded(text) {
    const { encoded } = this.patterns;
    const plain = text.replaceAll(/&#?\w+;/g, (innerHTML) => element("textarea", { innerHTML }).value);
    return encoded.reduce((rest, [each, meant]) => rest.replace(new RegExp(each, "g"), meant), plain).trim();
  }

  // What is shown of a message: without additions of torch and Python.
  shown(said) {
    return this.patterns.added.reduce((rest, each) => rest.replace(new RegExp(each, "g"), ""), said).trim();
  }

  typed(line) {
    const pattern = new RegExp(this.patterns.message, "g");
    let found = null, match;
    while ((match = pattern.exec(line))) {
      found = { type: match[1], text: match[2] ?? match[3] ?? "" };
      pattern.lastIndex = match.index + match[0].indexOf(match[1]) + match[1].length;
    }
    const asserted = found ? null : line.match(new RegExp(this.patterns.asserts));
    return asserted ? { type: "AssertionError", text: asserted[1] } : found;
  }

  message(type, said) {
    const { forms, stop, noise, word, noWords } = this.patterns;
    const all = (pattern) => new RegExp(pattern, "g");
    const formed = forms.reduce((rest, [pattern, name]) => rest.replace(all(pattern), name), said);
    const named = formed.replace(all(stop), ". ");
    const text = noise.reduce((rest, pattern) => rest.replace(all(pattern), " "), named);
    const found = text.toLowerCase().match(all(word)) ?? [];
    const words = found.filter((each) => !noWords.includes(each));
    if (!words.length && type) words.push(type.toLowerCase());
    return { type, ...this.marks(words) };
  }

  // What is compared of a message: its words and pairs of adjacent words.
  marks(words) {
    const pairs = words.slice(1).map((word, number) => `${words[number]} ${word}`);
    return { words, marks: new Set([...words, ...pairs]) };
  }

  // The messages most similar to the one in a text, most similar first, one per section.
  find(text, limit) {
    for (const wanted of this.readings(text)) {
      const found = this.like(wanted);
      if (found.length) return found.slice(0, limit);
    }
    return this.with(text.trim().toLowerCase()).slice(0, limit);
  }

  // The messages that contain two or more words as they stand, shortest first.
  with(words) {
    const there = new RegExp(`(?<!\\w)${words.replaceAll(/[^\w\s]/g, "\\$&")}(?!\\w)`);
    const having = words.includes(" ") ? this.messages.filter(({ text }) => there.test(text.toLowerCase())) : [];
    having.sort((a, b) => b.explained - a.explained || a.text.length - b.text.length);
    return this.onePerSection(having.map((message) => ({ message, likeness: 0, same: true })));
  }

  onePerSection(matches) {
    const bySection = new Map();
    for (const match of matches) {
      const [section] = match.message.sections;
      if (!bySection.has(section)) bySection.set(section, match);
    }
    return [...bySection.values()];
  }

  // Whether a text lacks the first word of an error, and begins or is typed otherwise.
  isAboutAnother(message, wanted) {
    const typed = wanted.type && wanted.type !== message.type;
    const begins = !message.marks.has(wanted.words[0]);
    return !wanted.marks.has(message.words[0]) && (typed || begins);
  }

  like(wanted) {
    const { sameType, explains, like, passing, part, some } = this.numbers;
    const { enough, sign, nearlyAll, about, same } = this.numbers;
    const matches = [], asked = this.weight(wanted.marks), isPart = wanted.words.length >= some;
    for (const [number, [common, heaviest]] of this.common(wanted.marks)) {
      const message = this.messages[number], whole = this.whole[number];
      // A single word matches only itself.
      if (message.words.length === 1 && wanted.words.join(" ") !== message.words[0]) continue;
      if (common < Math.min(enough * Math.log(1 + this.all), nearlyAll * whole)) continue;
      if (heaviest < sign && common < same * Math.max(whole, asked)) continue;
      if (message.type && common < about * whole && this.isAboutAnother(message, wanted)) continue;
      const size = isPart ? Math.min(whole, part * asked) : whole;
      const textSize = message.words.length >= some ? Math.min(asked, part * whole) : asked;
      const likeness = common / Math.sqrt(size * textSize)
        + (message.type === wanted.type || (isPart && !message.type) ? sameType : 0);
      if (likeness < (message.explained ? like : passing)) continue;
      matches.push({ message, likeness, same: common >= same * Math.min(whole, asked) });
    }
    const rank = ({ message, likeness }) =>
      Math.round((likeness + explains * message.explained) * 1e6);
    return this.onePerSection(matches.sort((a, b) => rank(b) - rank(a)));
  }
}

// Text with `code`, as nodes. Unpaired backticks are dropped, and the stars of *emphasis*; those
// between spaces, as in 2 ** 24, are kept.
function marked(text) {
  return text.split(/`+([^`]+)`+/).map((piece, number) => {
    if (number % 2 === 0) return piece.replaceAll(/`|(?<![\s*])\*+|\*+(?![\s*])/g, "");
    return element("code", {}, piece);
  });
}

// A link to a section, and the title of its page.
function heading([address, page, title]) {
  const link = element("a", { href: address }, ...marked(title));
  return page ? [link, " ", element("small", {}, ...marked(page))] : [link];
}

// A message with the section that explains it, its short answer, its examples and other sections.
function errorItem(lookup, { message, same }) {
  const [first, ...others] = message.sections.map((number) => lookup.sections[number]);
  const item = element("li", { className: "error-hit" });
  if (first) item.append(...heading(first));
  if (!same) item.append(element("p", { className: "error-near" }, "Not an exact match; compare:"));
  item.append(element("pre", { className: "error-text" },
    element("strong", {}, message.type), message.type && message.text ? ": " : "", message.text));
  if (first?.[3]) item.append(element("p", {}, ...marked(first[3])));
  for (const [claim, statement, number] of message.claims) {
    const page = lookup.sections[number][0].split("#")[0];
    item.append(element("p", {}, ...marked(statement), " ",
      element("a", { href: `${page}#claim-${claim}` }, "Its example")));
  }
  if (others.length) {
    const links = others.slice(0, 4).flatMap((other) => [" · ", heading(other)[0]]).slice(1);
    item.append(element("p", {}, "Also in: ", ...links));
  }
  return item;
}

function errorPage(lookup) {
  const list = document.querySelector("ul.error-list");
  const form = element("form", { className: "error-lookup" });
  form.setAttribute("role", "search");
  form.innerHTML = `
    <label for="traceback">Traceback</label>
    <textarea id="traceback" name="text" rows="6" spellcheck="false" autocomplete="off"
      placeholder="RuntimeError: The size of tensor a (3) must match …"></textarea>
    <p role="status"></p>
    <ul class="error-list"></ul>`;
  list.closest("details").before(form);

  const show = () => {
    const text = form.text.value.trim();
    const found = text ? lookup.find(text, 3) : [];
    form.querySelector("ul").replaceChildren(...found.map((match) => errorItem(lookup, match)));
    const words = new URLSearchParams({ q: text.split("\n").pop() });
    form.querySelector("[role=status]").replaceChildren(...!text ? []
      : found.length ? [found[0].same ? `${found.length} found` : "The nearest"]
        : ["No example prints an error like this one. ",
          element("a", { href: `search.html?${words}` }, "Search the book for it"), "."]);
  };
  form.addEventListener("input", () => {
    history.replaceState({ pasted: form.text.value }, "");  // for who comes back to this page
    show();
  });
  form.addEventListener("submit", (event) => event.preventDefault());
  form.text.value = history.state?.pasted ?? "";
  show();
}

let theErrors = null;

// Loads the messages of the book, and does something with their lookup.
function loadErrors(use) {
  window.errorData = (data) => {
    theErrors = new ErrorLookup(data);
    use(theErrors);
  };
  addScript("errordata.js");
}

// The search page calls this itself, once it can show hits.
if (document.querySelector("ul.error-list")) loadErrors(errorPage);
