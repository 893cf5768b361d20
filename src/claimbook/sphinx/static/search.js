// The search page: sections by their words (MiniSearch), and errors by their likeness, as
// claimbook.js compares them. Its data come by a script, so that it works from a file:// page.

const HITS = 20;
const WEIGHTS = { title: 4, page: 3, short: 2, statements: 1, names: 2, words: 1, rest: 1, errors: 1.5 };
const TOKEN = /[\p{L}_][\p{L}\p{N}_]*(?:\.[\p{L}_][\p{L}\p{N}_]*)*/gu;
const HUMPS = /_+|(?<=[\p{Ll}\p{N}])(?=\p{Lu})/u;
const STOP_WORDS = new Set(
  ("a an and are as at be but by can do does for from has have how i if in is it its my of on or "
    + "that the their there these this to vs versus was we what when where which who why will "
    + "with you your between difference get need should use using").split(" "));
const EVERYWHERE = new Set(["py", "pytorch", "torch"]);  // they say nothing beside another word

// Words that people type where the book has others.
const ALSO = {
  concatenate: "cat", init: "initialise", intermediate: "hook", normalization: "norm", oom: "memory",
  regularization: "decay", reproducible: "deterministic seed", reproducibility: "deterministic seed",
};

// `torch.no_grad` is found as a whole, as `no_grad`, and by `grad`; numbers are no words.
function tokens(text) {
  const found = [];
  for (const whole of text.match(TOKEN) ?? []) {
    const names = whole.split(".");
    if (names.length > 1) found.push(whole);
    for (const name of names) {
      const parts = name.split(HUMPS).filter(Boolean);
      found.push(name, ...(parts.length > 1 ? parts : []));
    }
  }
  return found;
}

// In British spelling, without the ending of its inflection; a word that says nothing is null.
function stem(token) {
  const word = token.toLowerCase();
  if (word.length < 2 || STOP_WORDS.has(word)) return null;
  return word
    .replace(/i[sz](?:ations?|e[drs]?|ers|ing)$/, "is").replace(/ior(?=s?$)/, "iour")
    .replace(/(?<=^[a-z]{3,})(?:es|s|e|ing|ed)$/, "");
}

const ALSO_STEMMED = new Map(Object.entries(ALSO).map(([word, others]) => (
  [stem(word), [word, ...others.split(" ")].map(stem)])));

class Search {
  constructor({ sections, errors }) {
    this.sections = new Map(sections.map((section) => [section.id, section]));
    this.errors = errors.map((error) => ({
      ...error,
      words: wordsOf(error.text, error.type),
      sections: error.sections.map((number) => sections[number].id),
    }));
    const said = new Map();
    for (const { type, text, sections: ids } of this.errors) {
      for (const id of ids) said.set(id, `${said.get(id) ?? ""} ${type} ${text}`);
    }
    const stems = new Map();
    this.index = new MiniSearch({
      fields: Object.keys(WEIGHTS),
      extractField: (section, field) => (
        field === "errors" ? said.get(section.id) ?? "" : String(section[field])),
      tokenize: tokens,
      processTerm: (token) => {
        if (!stems.has(token)) stems.set(token, stem(token));
        return stems.get(token);
      },
    });
    this.index.addAll(sections);
  }

  // Sections, the best first. A section whose claims print the error that is asked for counts more,
  // by its likeness, and a page without claims less.
  find(query) {
    const like = new Map();
    for (const { message, likeness } of likeErrors(readError(query), this.errors, 99)) {
      if (likeness < 0.6) break;
      for (const id of message.sections) like.set(id, Math.max(like.get(id) ?? 0, likeness));
    }
    const worth = (id) => (
      (this.sections.get(id).statements.length ? 1 : 0.5) * (1 + (like.get(id) ?? 0)));
    const hits = this.index.search(query, {
      boost: WEIGHTS,
      boostDocument: worth,
      boostTerm: (term) => (EVERYWHERE.has(term) ? 0.1 : 1),
      processTerm: (token) => ALSO_STEMMED.get(stem(token)) ?? stem(token),
    });
    return hits.slice(0, HITS).map(({ id, terms }) => ({ section: this.sections.get(id), terms }));
  }
}

// The number of the statement that holds most of the words that were found, those that the page
// does not show here included; -1 if none holds any.
function nearest({ section, terms }) {
  const count = (statement, number) => {
    const stems = new Set(tokens(`${statement} ${section.rest[number]}`).map(stem));
    return terms.filter((term) => stems.has(term)).length;
  };
  const counts = section.statements.map(count);
  const most = Math.max(...counts);
  return most > 0 ? counts.indexOf(most) : -1;
}

// Text with `code` in it, as nodes.
function marked(text) {
  return text.split(/`+([^`]+)`+/).map((piece, number) => {
    if (number % 2 === 0) return piece.replaceAll("*", "");
    return Object.assign(document.createElement("code"), { textContent: piece });
  });
}

function hitItem(hit) {
  const { section } = hit;
  const item = document.createElement("li");
  const link = Object.assign(document.createElement("a"), { href: section.id });
  link.append(...marked(section.page ? `${section.page}: ${section.title}` : section.title));
  item.append(link);
  const line = (...parts) => {
    const paragraph = document.createElement("p");
    paragraph.append(...parts);
    item.append(paragraph);
  };
  if (section.short) line(...marked(section.short));
  const number = nearest(hit);
  if (number >= 0) {
    const href = `${section.id.split("#")[0]}#claim-${section.claims[number]}`;
    const example = Object.assign(document.createElement("a"), { href, textContent: "Its example" });
    line(...marked(section.statements[number]), " ", example);
  }
  return item;
}

function searchPage(data) {
  const place = document.querySelector("section.search");
  const form = place.querySelector("form");
  const search = new Search(data);
  const show = () => {
    const query = form.q.value.trim();
    const hits = query ? search.find(query) : [];
    place.querySelector("ol").replaceChildren(...hits.map(hitItem));
    place.querySelector("[role=status]").textContent = !query ? ""
      : hits.length ? `${hits.length === HITS ? "The best " : ""}${hits.length} sections`
        : "Nothing on this site holds these words.";
    const address = query ? `?${new URLSearchParams({ q: query })}` : location.pathname;
    history.replaceState(null, "", address);
  };
  form.q.value = new URLSearchParams(location.search).get("q") ?? "";
  form.addEventListener("input", show);
  form.addEventListener("submit", (event) => event.preventDefault());
  form.q.focus();
  show();
}

window.searchData = searchPage;
