// The search page. Text that looks like an error goes to the lookup of errors (errors.js); anything
// else is a question, for which sections are ranked by the word weights that
// claimbook/exports/search.py computed. Data are scripts, so that a file:// page can load them, one
// after the other: what ranks sections, then the errors, then the lines that hits quote.

const HITS = 20, NAMES = 4, CLOSER = 60, LONG = 5, TITLE = 1.5;
// Letters of the shortest word with one misspelling, and with two.
const ONCE = 5, TWICE = 9;
const AMERICAN = [/is(?=(?:e[drs]?|ing|ations?|ers?)$)/, "iz"];
const WEIGHTS = { pair: 0.2, part: 0.35, whole: 0.6, exact: 0.4, synonym: 0.9, everywhere: 0.4, stop: 0.5 };
const RARITY = 0.8, LIKE = 2;
// What counts if a section has only some of a question's words, as a power of their share; and the part
// of its score that a section lends the others of its page.
const SHARE = 0.15, LENT = 0.1;
// For questions with such a word, sections with an error message as title count more.
const FAULT = { words: /\b(?:errors?|exceptions?|warnings?|fail(?:s|ed)?|failures?|raises?|crash(?:es)?)\b/i, more: 1.7 };
// A text with this many words and this likeness to a message is taken for an error; so is one that
// is the message, however short.
const SURE = { words: 4, likeness: 0.8 };

class Search {
  constructor({ places, terms, synonyms, words, ofErrors, apis }) {
    this.places = places;
    this.pages = places.map(([address]) => address.split("#")[0]);
    this.apis = Object.entries(apis);
    this.ofErrors = new RegExp(ofErrors);
    this.terms = new Map(Object.entries(terms));
    this.synonyms = new Map(Object.entries(synonyms));
    this.name = new RegExp(words.name, "g");
    this.exact = new RegExp(words.exact, "g");
    this.humps = new RegExp(words.humps);
    this.rules = words.rules.map(([pattern, put]) => [new RegExp(pattern), put]);
    this.stop = new Set(words.stop);
    this.everywhere = new Set(words.everywhere);
    this.lines = [];
    this.meanings = new Map();
    this.texts = new Map();
  }

  // The words that a misspelled one may stand for, each with the number of places that have it in
  // their titles, short answers or typed lines; stems of all other words have 0.
  get vocabulary() {
    if (!this.counted) {
      this.counted = new Map([...this.terms.keys()].map((term) => [term, 0]));
      for (const [, ...texts] of this.places) {
        for (const word of new Set(this.names(texts.join(" ")).flat())) {
          for (const spelling of new Set([word, word.replace(...AMERICAN)])) {
            this.counted.set(spelling, (this.counted.get(spelling) ?? 0) + 1);
          }
        }
      }
    }
    return this.counted;
  }

  // The words of a text in lower case, grouped by name.
  names(text) {
    return (text.match(this.name) ?? [])
      .map((name) => name.split(this.humps).filter(Boolean).map((word) => word.toLowerCase()))
      .filter((name) => name.length);
  }

  // The names of torch that a text writes as code, such as `nn.Linear`, `F.relu`, `x.gather()`, or
  // that it consists of, each with the address of its examples.
  named(text) {
    const ending = (name) => this.apis.filter(([api]) => `.${api}`.endsWith(`.${name}`));
    const found = (text.match(/[A-Za-z_][\w.]*\w\(?/g) ?? [])
      .filter((name) => name === text || /[._(]/.test(name))
      .map((name) => name.replace("(", "").replace(/^F\./, "functional."))
      .flatMap((name) => [ending(name), ending(name.split(".").pop())].find((apis) => apis.length) ?? []);
    return [...new Map(found)].slice(0, NAMES);
  }

  stem(word) {
    return this.rules.reduce((rest, [pattern, put]) => rest.replace(pattern, put), word);
  }

  knows(term) {
    return this.terms.has(term) || this.synonyms.has(term);
  }

  // The search terms of a question, with weights. A name counts as a whole, its words less.
  asked(question) {
    const found = new Map(), words = [];
    const add = (term, weight) => found.set(term, Math.max(weight, found.get(term) ?? 0));
    for (const name of question.match(this.exact) ?? []) {
      if (this.terms.has(name.toLowerCase())) add(name.toLowerCase(), WEIGHTS.exact);
    }
    for (const typed of this.names(question)) {
      const [word] = typed;
      const strange = typed.length === 1 && !this.stop.has(word) && !this.knows(this.stem(word));
      const name = (strange && this.apart(word)) || typed;
      const stems = name.map((word) => this.root(word));
      const whole = name.length > 1 && this.terms.has(stems.join(""));
      if (whole) add(stems.join(""), WEIGHTS.whole);
      name.forEach((word, number) => {
        words.push({ word, stem: stems[number], weight: whole ? WEIGHTS.part : 1 });
      });
    }
    words.forEach(({ word, stem, weight }, number) => {
      if (!this.stop.has(word) && word.length > 1) {
        add(stem, this.everywhere.has(word) ? WEIGHTS.everywhere : weight);
      }
      const before = words[number - 1];
      const pair = `${before?.stem}${stem}`;
      const common = this.everywhere.has(word) && this.everywhere.has(before?.word);
      if (before && !common && this.knows(pair)) add(pair, WEIGHTS.pair);
    });
    return found;
  }

  // Splits a name typed in lower case, such as `imagefolder`, into words: they must make a name known
  // to the book, or be long words known to it.
  apart(word, before = []) {
    const parts = [...before, word], stems = parts.map((part) => this.stem(part));
    const known = this.terms.has(stems.join(""))
      || parts.every((part, number) => part.length >= LONG && this.knows(stems[number]));
    if (before.length && known) return parts;
    for (let end = word.length - 3; before.length < 3 && end > 2; end--) {
      const head = word.slice(0, end);
      const found = this.knows(this.stem(head)) && this.apart(word.slice(end), [...before, head]);
      if (found) return found;
    }
    return null;
  }

  // The stem of a word. One that no place has is corrected, or loses a number, as in `resnet18`.
  root(word) {
    const stem = this.stem(word), name = stem.replace(/\d+$/, "");
    if (this.stop.has(word) || this.knows(stem)) return stem;
    if (name.length > 2 && this.knows(name)) return name;
    const meant = this.meant(word);
    return [this.stem(meant), meant].find((term) => term && this.knows(term)) ?? stem;
  }

  // What a misspelled word stands for: of the nearest known words, the most frequent; "" if none is
  // near.
  meant(word) {
    if (!this.meanings.has(word)) this.meanings.set(word, nearest(word, this.vocabulary));
    return this.meanings.get(word);
  }

  // The corrected words of a question, as pairs.
  corrected(question) {
    return this.alone(question)
      .filter((word) => this.root(word) !== this.stem(word))
      .map((word) => [word, this.meant(word)])
      .filter(([word, meant]) => this.vocabulary.get(meant) && this.root(word) === this.stem(meant));
  }

  // The words of a question that are unknown even after correction.
  unknown(question) {
    return this.alone(question)
      .filter((word) => word.length > 2 && /[a-z]/.test(word) && !this.knows(this.root(word)));
  }

  // The words of a question that are no parts of names.
  alone(question) {
    const words = this.names(question).filter((name) => name.length === 1).flat();
    return [...new Set(words)].filter((word) => !this.stop.has(word) && !this.apart(word));
  }

  rarity(term) {
    const count = (this.terms.get(term)?.length ?? 0) / 2;
    return count ? Math.log(1 + (this.places.length - count + 0.5) / (count + 0.5)) : 0;
  }

  // The weights of a line's words, by stem. Words without a subject, such as "why" and "how", count a
  // little: they tell apart questions about the same thing.
  weighted(line) {
    return new Map(this.names(line).flat().map((word) => {
      if (this.stop.has(word)) return [word, WEIGHTS.stop];
      const stem = this.root(word);
      return [stem, (this.everywhere.has(word) ? WEIGHTS.everywhere : 1) * this.rarity(stem) ** RARITY];
    }));
  }

  // The lines of a place that a question is compared with, weighted: those that people type to find it,
  // its title, and the parts of its short answer.
  typed(place) {
    const [, , title, short, lines] = this.places[place];
    return this.lines[place] ??= [...lines.split("\n"), title, ...short.split(/[.:;] /)]
      .map((line) => this.weighted(line));
  }

  // The similarity of a question, given as weighted words, to the most similar line of a place.
  likeness(asked, place) {
    const size = Math.max(1, total(asked));
    return Math.max(...this.typed(place).map((line) => {
      let common = 0;
      for (const [word, worth] of asked) {
        if (line.has(word)) common += worth;
        else if (this.synonyms.get(word)?.some((other) => line.has(other))) common += worth * WEIGHTS.synonym;
      }
      return common / Math.sqrt(size * Math.max(1, total(line)));
    }));
  }

  // The places that have search terms of a question, with their scores.
  scored(terms) {
    const scores = new Map();
    let whole = 0;
    for (const [term, weight] of terms) {
      const best = new Map();
      let most = 0;
      for (const other of [term, ...(this.synonyms.get(term) ?? [])]) {
        const told = this.terms.get(other);
        if (!told) continue;
        const worth = this.rarity(other) ** RARITY * (other === term ? 1 : WEIGHTS.synonym);
        most = Math.max(most, worth);
        for (let at = 0, place = 0; at < told.length; at += 2) {
          place += told[at];
          best.set(place, Math.max(worth * told[at + 1], best.get(place) ?? 0));
        }
      }
      whole += weight * most;
      for (const [place, worth] of best) {
        const [score, share] = scores.get(place) ?? [0, 0];
        scores.set(place, [score + weight * worth, share + weight * most]);
      }
    }
    return [...scores].map(([place, [score, share]]) => [place, score * (share / whole) ** SHARE]);
  }

  // The numbers of the best places, best first. The best by words are ranked again: places with a
  // line similar to the question move up, and so do those on the page of another good one.
  find(question) {
    const sorted = (found) => found.sort(([a, x], [b, y]) => y - x || a - b);
    const fault = FAULT.words.test(question), asked = this.weighted(question);
    const more = (place) => (fault && this.ofErrors.test(this.places[place][2]) ? FAULT.more : 1);
    const scores = this.scored(this.asked(question)).map(([place, score]) => [place, score * more(place)]);
    const best = sorted(sorted(scores).slice(0, CLOSER)
      .map(([place, score]) => [place, score * (1 + LIKE * this.likeness(asked, place))]));
    const lent = ([place, score]) => {
      const other = best.find(([found]) => found !== place && this.pages[found] === this.pages[place]);
      return [place, score + LENT * (other?.[1] ?? 0)];
    };
    return sorted(best.map(lent)).slice(0, HITS).map(([place]) => place);
  }

  // The terms that a text holds. They are kept: the next letter asks for the same texts again.
  held(text) {
    let held = this.texts.get(text);
    if (!held) {
      const stems = this.names(text).flat().map((word) => this.stem(word));
      const pairs = stems.slice(1).map((stem, number) => stems[number] + stem);
      const exact = (text.match(this.exact) ?? []).map((name) => name.toLowerCase());
      this.texts.set(text, held = new Set([...stems, ...pairs, ...exact]));
    }
    return held;
  }

  // The line, of [claim, text] pairs, that best matches a question. The title of a claim, its first
  // line, is preferred; any other must match better than the short answer, which a hit shows too.
  line(question, lines, short) {
    const asked = [...this.asked(question)].flatMap(([term, weight]) => (
      [[term, weight], ...(this.synonyms.get(term) ?? []).map((other) => [other, weight / 2])]));
    const rarity = ([term, weight]) => weight / Math.sqrt(this.terms.get(term)?.length ?? 1);
    const worth = (text) => {
      const held = this.held(text);
      return asked.reduce((sum, each) => sum + (held.has(each[0]) ? rarity(each) : 0), 0);
    };
    const told = worth(short), titled = new Set([""]);
    let best = null, most = 0;
    for (const line of lines) {
      const [claim, text] = line, found = worth(text), title = !titled.has(claim);
      titled.add(claim);
      const counted = title ? found * TITLE : found > told ? found : 0;
      if (counted > most) [best, most] = [line, counted];
    }
    return best;
  }
}

const total = (weighted) => [...weighted.values()].reduce((sum, worth) => sum + worth, 0);

// Of the words with the fewest edits between them and the given one, the most frequent; "" if all
// have too many.
function nearest(word, counts) {
  const own = letters(word);
  let least = word.length < ONCE ? 0 : word.length < TWICE ? 1 : 2, found = "";
  for (const [other, count] of counts) {
    if (ones(own ^ letters(other)) > 2 * least) continue;  // an edit changes two letters at most
    const between = edits(word, other, least);
    if (between < least || (between === least && count >= (counts.get(found) ?? 0))) {
      [least, found] = [between, other];
    }
  }
  return found;
}

// Which letters a word has: a bit for each, shared by few.
function letters(word) {
  let bits = 0;
  for (let at = 0; at < word.length; at++) bits |= 1 << (word.charCodeAt(at) & 31);
  return bits;
}

function ones(bits) {
  let count = 0;
  for (; bits; bits &= bits - 1) count++;
  return count;
}

// The number of letters to add, remove or change, and of neighbours to swap, to make one word of the
// other. If it is above `most`, the result is above `most` too, but may be less.
function edits(one, other, most) {
  if (Math.abs(one.length - other.length) > most) return most + 1;
  let before = [], row = Array.from({ length: other.length + 1 }, (_, number) => number);
  for (let i = 1; i <= one.length && Math.min(...row) <= most; i++) {
    const next = [i];
    for (let j = 1; j <= other.length; j++) {
      next[j] = Math.min(row[j] + 1, next[j - 1] + 1, row[j - 1] + (one[i - 1] !== other[j - 1]));
      const swapped = i > 1 && j > 1 && one[i - 1] === other[j - 2] && one[i - 2] === other[j - 1];
      if (swapped) next[j] = Math.min(next[j], before[j - 2] + 1);
    }
    [before, row] = [row, next];
  }
  return Math.max(row.at(-1), Math.min(...row));
}

function hitItem(place, line) {
  const [address, , , short] = place;
  const item = element("li", {}, ...heading(place));
  if (short) item.append(element("p", {}, ...marked(short)));
  if (line && line[1] !== short) {
    const [claim, text] = line;
    const example = element("a", { href: `${address.split("#")[0]}#claim-${claim}` }, "Its example");
    item.append(element("p", {}, ...marked(text), ...(claim ? [" ", example] : [])));
  }
  return item;
}

// The status line of a question: corrected words, words that no section has, the number of hits.
function toldHits(search, question, hits) {
  if (!hits.length) {
    return [search.asked(question).size ? "Nothing on this site has these words."
      : "Words as common as these are not searched for. Add what the question is about."];
  }
  const quoted = (word) => element("q", {}, word);
  const best = hits.length === HITS ? "the best " : "";
  const count = `${best}${hits.length} section${hits.length === 1 ? "" : "s"}`;
  const read = search.corrected(question)
    .flatMap(([word, meant]) => [quoted(word), " read as ", quoted(meant), ". "]);
  const named = search.unknown(question).flatMap((word) => [", ", quoted(word)]).slice(1);
  if (!named.length) return [...read, count[0].toUpperCase() + count.slice(1)];
  return [...read, "No section says ", ...named, `. For the other words: ${count}`];
}

// The status line of an error.
function toldErrors([error]) {
  if (!error) {
    return ["No example in this book prints this error or a similar one. Paste the last line that ",
      "names an error type, or see ", element("a", { href: "errors.html" }, "all errors"),
      ", by type. The sections below only share its words."];
  }
  return [error.same ? "An error, and what explains it" : "An error, and the nearest to it",
    "; then sections that share its words."];
}

// The errors that a text may be, whether it surely is one, and what to ask of the sections.
function taken(lookup, text) {
  if (!lookup || !text) return { errors: [], sure: false, asked: text };
  const errors = lookup.find(text, 2), { words } = lookup.read(text);
  const [{ message, likeness } = {}] = errors;
  const sure = lookup.looks(text) || (likeness >= SURE.likeness && words.length >= SURE.words)
    || text.toLowerCase() === message?.text.toLowerCase();
  return { errors: sure ? errors : [], sure, asked: sure && words.length ? words.join(" ") : text };
}

function searchPage(search) {
  const place = document.querySelector("section.search");
  const form = place.querySelector("form");
  const status = place.querySelector("[role=status]");
  const names = place.querySelector(".search-names");
  const list = place.querySelector("ol");
  let lookup = null, lines = null;

  const show = () => {
    const typed = form.q.value.trim(), text = typed.replaceAll(BREAK, "\n");
    const { errors, sure, asked } = taken(lookup, text);
    const shown = new Set(errors.map(({ message }) => lookup.address(message)));
    const hits = search.find(asked).filter((hit) => !shown.has(search.places[hit][0]));
    const item = (hit) => hitItem(search.places[hit],
      lines && search.line(asked, lines[hit], search.places[hit][3]));
    showHits([...errors.map((match) => errorItem(lookup, match)), ...hits.map(item)]);
    showNames(sure ? [] : search.named(text));
    status.replaceChildren(
      ...!text ? [] : sure ? toldErrors(errors) : toldHits(search, text, hits));
    history.replaceState(null, "", text ? `?${new URLSearchParams({ q: typed })}` : location.pathname);
  };
  const showHits = (items) => {  // a link that has the focus keeps it
    const focused = list.contains(document.activeElement) && document.activeElement.href;
    list.replaceChildren(...items);
    if (focused) [...list.querySelectorAll("a")].find((link) => link.href === focused)?.focus();
  };
  const showNames = (found) => {
    names.hidden = !found.length;
    names.replaceChildren("Examples of ", ...found.flatMap(([api, address], number) => (
      [number ? ", " : "", element("a", { href: address }, element("code", {}, api))])));
  };

  window.searchLines = (found) => {
    lines = found;
    show();
  };
  form.q.value = oneLine(new URLSearchParams(location.search).get("q") ?? "");
  form.addEventListener("input", show);
  form.addEventListener("submit", (event) => event.preventDefault());
  form.q.focus();
  Documentation.focusSearchBar = () => form.q.focus();  // by the key `/`, not the sidebar's box
  show();
  loadErrors((found) => {
    lookup = found;
    show();
    addScript("searchlines.js", { async: true });
  });
}

let theSearch = null;

window.searchData = (data) => {
  theSearch = new Search(data);
  searchPage(theSearch);
};
