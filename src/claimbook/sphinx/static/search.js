// The search page. Text that looks like an error goes to the lookup of errors (errors.js); anything
// else is a question, for which sections are ranked by the word weights that
// claimbook/exports/search.py computed. Data are scripts, so that a file:// page can load them; the
// lines that hits quote are loaded last.

const HITS = 20, CLOSER = 60, LONG = 5;
const WEIGHTS = { pair: 0.2, stopPair: 0.22, part: 0.35, whole: 0.6, exact: 0.4, synonym: 0.9, everywhere: 0.4, stop: 0.5 };
const RARITY = 0.8, LIKE = 2;
// For questions with such a word, sections with an error message as title count more.
const FAULT = { words: /\b(?:errors?|exceptions?|warnings?|fail(?:s|ed)?|failures?|raises?|crash(?:es)?)\b/i, more: 1.7 };
// A text with this many words and this likeness to a message is taken for an error.
const SURE = { words: 4, likeness: 0.8 };

class Search {
  constructor({ places, terms, synonyms, words, ofErrors }) {
    this.places = places;
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
  }

  // The words of a text in lower case, grouped by name.
  names(text) {
    return (text.match(this.name) ?? [])
      .map((name) => name.split(this.humps).filter(Boolean).map((word) => word.toLowerCase()))
      .filter((name) => name.length);
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
      const stems = name.map((word) => this.stem(word));
      const whole = name.length > 1 && this.terms.has(stems.join(""));
      if (whole) add(stems.join(""), WEIGHTS.whole);
      name.forEach((word, number) => {
        words.push({ word, stem: stems[number], weight: whole ? WEIGHTS.part : 1 });
      });
    }
    words.forEach(({ word, stem, weight }, number) => {
      if (!this.stop.has(word) && word.length > 1) {
        add(this.spelled(stem), this.everywhere.has(word) ? WEIGHTS.everywhere : weight);
      }
      const before = words[number - 1];
      const pair = `${before?.stem}${stem}`;
      if (before && this.knows(pair)
        && !(this.everywhere.has(word) && this.everywhere.has(before.word))) {
        const stop = this.stop.has(word) || this.stop.has(before.word);
        add(pair, stop ? WEIGHTS.stopPair : WEIGHTS.pair);
      }
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

  // Corrects an unknown word: strips a number, as in `resnet18`, or returns the most frequent known
  // word with one letter added, removed or changed, or with two neighbours swapped.
  spelled(term) {
    if (this.knows(term)) return term;
    const name = term.replace(/\d+$/, "");
    if (name.length > 2 && this.knows(name)) return name;
    if (term.length < 5) return term;
    const near = [...this.terms].filter(([other]) => oneApart(term, other));
    return near.sort(([, a], [, b]) => b.length - a.length)[0]?.[0] ?? term;
  }

  // The words of a question that are unknown even after correction.
  unknown(question) {
    const words = this.names(question).filter((name) => name.length === 1).flat();
    return [...new Set(words)].filter((word) => word.length > 2 && /[a-z]/.test(word)
      && !this.stop.has(word) && !this.knows(this.spelled(this.stem(word))) && !this.apart(word));
  }

  rarity(term) {
    const count = (this.terms.get(term)?.length ?? 0) / 2;
    return count ? Math.log(1 + (this.places.length - count + 0.5) / (count + 0.5)) : 0;
  }

  // The weights of a line's words, by stem. Words without a subject, such as "why" and "how", count a
  // little: they tell apart questions about the same thing.
  weighted(line) {
    return new Map(this.names(line).flat().map((word) => {
      const stem = this.spelled(this.stem(word));
      if (this.stop.has(word)) return [word, WEIGHTS.stop];
      return [stem, (this.everywhere.has(word) ? WEIGHTS.everywhere : 1) * this.rarity(stem) ** RARITY];
    }));
  }

  // The lines that people type to find a place, weighted.
  typed(place) {
    return this.lines[place] ??= this.places[place][4].split("\n").map((line) => this.weighted(line));
  }

  // The similarity of a question, given as weighted words, to the most similar line of a place.
  likeness(asked, place) {
    return Math.max(...this.typed(place).map((line) => {
      let common = 0;
      for (const [word, worth] of asked) {
        if (line.has(word)) common += worth;
        else if (this.synonyms.get(word)?.some((other) => line.has(other))) common += worth * WEIGHTS.synonym;
      }
      return common / Math.sqrt(Math.max(1, total(asked)) * Math.max(1, total(line)));
    }));
  }

  // The numbers of the best places, best first. The best by words are ranked again: places with a
  // typed line similar to the question move up.
  find(question) {
    const scores = new Map(), terms = this.asked(question);
    for (const [term, weight] of terms) {
      const best = new Map();
      for (const other of [term, ...(this.synonyms.get(term) ?? [])]) {
        const told = this.terms.get(other);
        if (!told) continue;
        const worth = this.rarity(other) ** RARITY * (other === term ? 1 : WEIGHTS.synonym);
        for (let at = 0, place = 0; at < told.length; at += 2) {
          place += told[at];
          best.set(place, Math.max(worth * told[at + 1], best.get(place) ?? 0));
        }
      }
      for (const [place, worth] of best) scores.set(place, (scores.get(place) ?? 0) + weight * worth);
    }
    if (FAULT.words.test(question)) {
      for (const [place, score] of scores) {
        if (this.ofErrors.test(this.places[place][2])) scores.set(place, FAULT.more * score);
      }
    }
    const sorted = (found) => found.sort(([a, x], [b, y]) => y - x || a - b);
    const asked = this.weighted(question);
    const best = sorted([...scores]).slice(0, CLOSER)
      .map(([place, score]) => [place, score * (1 + LIKE * this.likeness(asked, place))]);
    return sorted(best).slice(0, HITS).map(([place]) => place);
  }

  // The line, of [claim, text] pairs, that best matches a question.
  line(question, lines) {
    const asked = [...this.asked(question)].flatMap(([term, weight]) => (
      [[term, weight], ...(this.synonyms.get(term) ?? []).map((other) => [other, weight / 2])]));
    const rarity = ([term, weight]) => weight / Math.sqrt(this.terms.get(term)?.length ?? 1);
    let best = null, most = 0;
    for (const line of lines) {
      const stems = this.names(line[1]).flat().map((word) => this.stem(word));
      const pairs = stems.slice(1).map((stem, number) => stems[number] + stem);
      const exact = (line[1].match(this.exact) ?? []).map((name) => name.toLowerCase());
      const held = new Set([...stems, ...pairs, ...exact]);
      const worth = asked.reduce((sum, each) => sum + (held.has(each[0]) ? rarity(each) : 0), 0);
      if (worth > most) [best, most] = [line, worth];
    }
    return best;
  }
}

const total = (weighted) => [...weighted.values()].reduce((sum, worth) => sum + worth, 0);

// Whether two words differ by one letter, or by two swapped neighbours.
function oneApart(one, other) {
  if (Math.abs(one.length - other.length) > 1) return false;
  let start = 0, end = 0;
  const least = Math.min(one.length, other.length);
  while (start < least && one[start] === other[start]) start++;
  while (end < least - start && one.at(-1 - end) === other.at(-1 - end)) end++;
  const rest = Math.max(one.length, other.length) - start - end;
  return rest <= 1 || (rest === 2 && one.length === other.length
    && one[start] === other[start + 1] && one[start + 1] === other[start]);
}

function hitItem(place, line) {
  const [address, page, title, short] = place;
  const item = element("li", {},
    element("a", { href: address }, ...marked(page ? `${page}: ${title}` : title)));
  if (short) item.append(element("p", {}, ...marked(short)));
  if (line && line[1] !== short) {
    const [claim, text] = line;
    const example = element("a", { href: `${address.split("#")[0]}#claim-${claim}` }, "Its example");
    item.append(element("p", {}, ...marked(text), ...(claim ? [" ", example] : [])));
  }
  return item;
}

// The status line: the number of hits, and the words that no section has.
function told(unknown, hits) {
  const count = `${hits} section${hits === 1 ? "" : "s"}`;
  if (!unknown.length) return [`${hits === HITS ? "The best " : ""}${count}`];
  const named = unknown.flatMap((word) => [", ", element("q", {}, word)]).slice(1);
  return ["No section says ", ...named, `. For the other words: ${hits === HITS ? "the best " : ""}${count}`];
}

function searchPage(search) {
  const place = document.querySelector("section.search");
  const form = place.querySelector("form");
  const status = place.querySelector("[role=status]");
  const list = place.querySelector("ol");
  let lookup = theErrors, lines = null;

  const show = () => {
    const text = form.q.value.trim();
    const errors = text && lookup ? lookup.find(text, 2) : [];
    const sure = lookup && (lookup.looks(text)
      || (errors[0]?.likeness >= SURE.likeness && lookup.read(text).words.length >= SURE.words));
    const shown = new Set(sure ? errors.map(({ message }) => lookup.address(message)) : []);
    const hits = (text ? search.find(text) : []).filter((hit) => !shown.has(search.places[hit][0]));
    const items = hits.map((hit) => (
      hitItem(search.places[hit], lines && search.line(text, lines[hit]))));
    if (sure) items.unshift(...errors.map((match) => errorItem(lookup, match)));
    list.replaceChildren(...items);
    status.replaceChildren(...!text ? []
      : sure && !errors.length ? [
        "No example in this book prints this error or a similar one. Paste the last line that ",
        "names an error type, or see ", element("a", { href: "errors.html" }, "all errors"),
        ", by type. The sections below only share its words."]
        : sure ? [errors[0].same ? "An error, and what explains it" : "An error, and the nearest to it",
          "; then sections that share its words."]
          : hits.length ? told(search.unknown(text), hits.length)
            : ["Nothing on this site has these words."]);
    history.replaceState(null, "", text ? `?${new URLSearchParams({ q: text })}` : location.pathname);
  };

  withErrors = (found) => {
    lookup = found;
    show();
  };
  window.searchLines = (found) => {
    lines = found;
    show();
  };
  form.q.value = new URLSearchParams(location.search).get("q") ?? "";
  form.addEventListener("input", show);
  form.addEventListener("submit", (event) => event.preventDefault());
  form.q.focus();
  show();
  document.head.append(element("script", { src: "searchlines.js", async: true }));
}

let theSearch = null;
withErrors = () => {};
window.searchData = (data) => {
  theSearch = new Search(data);
  searchPage(theSearch);
};
