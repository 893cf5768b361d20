// The practice page: shows cards and schedules them with Leitner boxes. Data files are scripts that
// call practiceCards.

const DAYS = [0, 1, 3, 7, 21, 60]; // until a card in each box is due again

const today = () => {
  const now = new Date();
  return Math.floor((now - now.getTimezoneOffset() * 60000) / 86400000);
};

// Progress is { deck, kind, cards: { id: [box, day when due] } }.

let unkept = null; // progress that the browser refused to store

function readProgress() {
  try {
    return unkept ?? checked(JSON.parse(remembered("practice")));
  } catch {
    return { deck: "", kind: "", cards: {} };
  }
}

function checked(progress) {
  const fits = ([box, due]) => Number.isInteger(box) && box in DAYS && Number.isInteger(due);
  if (!Object.values(progress.cards).every(fits)) throw new TypeError("no progress of this page");
  return progress;
}

// Reads the progress again first, so that changes from another tab are not lost.
function writeProgress(change) {
  const progress = readProgress();
  change(progress);
  unkept = remember("practice", JSON.stringify(progress)) ? null : progress;
  if (unkept) {
    document.querySelector(".practice-said").textContent =
      "This browser does not save your progress: export it before you leave.";
  }
}

const loading = {}; // name of a deck → what to do with its cards
const loaded = {};
window.practiceCards = (name, cards) => {
  loaded[name] = cards;
  loading[name]?.(cards);
};

function load(folder, name) {
  return new Promise((resolve, reject) => {
    if (loaded[name]) return resolve(loaded[name]);
    loading[name] = resolve;
    const onerror = () => reject(new Error(`${name}.js cannot be loaded`));
    addScript(new URL(`${name}.js`, folder), { onerror });
  });
}

// The due cards, longest overdue first, then new cards in book order.
function queueOf(cards) {
  const known = readProgress().cards;
  const due = cards.filter(({ id }) => id in known && known[id][1] <= today());
  due.sort((a, b) => known[a.id][1] - known[b.id][1]);
  return [...due, ...cards.filter(({ id }) => !(id in known))];
}

// What is said when no card is left.
function nothingDue(cards) {
  const known = readProgress().cards;
  const days = cards.filter(({ id }) => id in known).map(({ id }) => known[id][1] - today());
  const next = Math.min(...days);
  return days.length ? `Nothing is due. The next card is due in ${next} ${next === 1 ? "day" : "days"}.`
    : "This deck has no such cards.";
}

// The code of a card, with what it prints.
const session = (pieces) => pieces.map(([code, output]) => (
  `<div class="highlight"><pre>${code}</pre></div>`
  + (output ? `<div class="highlight practice-output"><pre class="hidden-yet">${output}</pre></div>` : "")
)).join("");

function exportProgress() {
  const file = new Blob([JSON.stringify(readProgress(), null, 1)], { type: "application/json" });
  const href = URL.createObjectURL(file);
  element("a", { href, download: "practice-progress.json" }).click();
  URL.revokeObjectURL(href);
}

const HTML = `
  <form class="practice-choice">
    <label>Deck <select name="deck"></select></label>
    <label>Cards <select name="kind">
      <option value="">all</option>
      <option value="question">questions</option>
      <option value="output">what does it print?</option>
    </select></label>
  </form>
  <div class="practice-desk" role="group" aria-labelledby="practice-ask" tabindex="-1">
    <p class="practice-count"></p>
    <progress aria-label="Progress" value="0"></progress>
    <p class="practice-topic"></p>
    <p class="practice-ask" id="practice-ask"></p>
    <div class="practice-session"></div>
    <p class="practice-answer hidden-yet"></p>
    <p class="practice-link hidden-yet"><a>Where the book says so</a></p>
    <p class="practice-buttons">
      <button type="button" name="show">Show the answer <kbd>space</kbd></button>
      <button type="button" name="knew">Knew it <kbd>1</kbd></button>
      <button type="button" name="not-yet">Not yet <kbd>2</kbd></button>
    </p>
  </div>
  <p class="practice-heard claim-unseen" role="status"></p>
  <p class="practice-keep">
    <button type="button" name="export">Export progress</button>
    <label>Import progress <input type="file" name="import" accept=".json,application/json"></label>
    <span role="status" class="practice-said"></span>
  </p>`;

function practice() {
  const place = document.querySelector("div.practice");
  const folder = new URL(".", document.querySelector("a.practice-file").href);
  const names = [...place.querySelectorAll(".practice-decks li")].map((item) => (
    [item.id.replace("deck-", ""), item.querySelector("span").textContent]));
  place.innerHTML = HTML;
  const part = (name) => place.querySelector(`.practice-${name}`);
  const button = (name) => place.querySelector(`[name="${name}"]`);
  const choice = part("choice");
  const desk = part("desk");
  let cards = [];
  let queue = [];

  const say = (text) => { part("said").textContent = text; };

  const count = () => {
    const known = readProgress().cards;
    const fresh = queue.filter(({ id }) => !(id in known)).length;
    const later = cards.length - queue.length;
    part("count").textContent = `${queue.length - fresh} due, ${fresh} new, ${later} later`;
    Object.assign(place.querySelector("progress"), { max: cards.length || 1, value: later });
  };

  const answerIsShown = () => !desk.querySelector(".hidden-yet");

  const showCard = () => {
    const [card] = queue;
    count();
    part("topic").innerHTML = card?.topic ?? "";
    part("ask").innerHTML = card?.ask ?? nothingDue(cards);
    part("session").innerHTML = session(card?.session ?? []);
    watchWidths(desk);
    part("answer").innerHTML = card?.answer ?? "";
    part("link").firstElementChild.href = card ? new URL(card.link, BOOK) : "";
    // A desk that keeps the focus does not say its new question by itself.
    part("heard").textContent = document.activeElement === desk ? part("ask").textContent : "";
    for (const name of ["answer", "link"]) part(name).classList.add("hidden-yet");
    button("show").disabled = !card;
    button("knew").disabled = button("not-yet").disabled = true;
  };

  const showAnswer = () => {
    if (!queue.length || answerIsShown()) return;
    desk.querySelectorAll(".hidden-yet").forEach((part) => part.classList.remove("hidden-yet"));
    button("show").disabled = true;
    button("knew").disabled = button("not-yet").disabled = false;
    const outputs = [...desk.querySelectorAll(".practice-output")].map((out) => out.textContent);
    part("heard").textContent = [...outputs, part("answer").textContent].join(" ");
    desk.focus({ preventScroll: true });
  };

  const mark = (knew) => {
    if (!queue.length || !answerIsShown()) return;
    const card = queue.shift();
    writeProgress(({ cards: known }) => {
      const box = knew ? Math.min((known[card.id]?.[0] ?? 0) + 1, DAYS.length - 1) : 0;
      known[card.id] = [box, today() + DAYS[box]];
    });
    if (!knew) queue.push(card);
    showCard();
    desk.focus({ preventScroll: true });
  };

  const choose = async () => {
    const { deck, kind } = choice;
    writeProgress((progress) => Object.assign(progress, { deck: deck.value, kind: kind.value }));
    const name = deck.value;
    kind.disabled = name === "said"; // it has only one kind
    try {
      const all = await load(folder, name);
      if (deck.value !== name) return; // another was chosen while this one was loading
      cards = all.filter((card) => kind.disabled || !kind.value || card.kind === kind.value);
      if (page?.startsWith(`${name}/`)) {
        cards = cards.filter(({ link }) => link.startsWith(`${page}.html`));
      }
    } catch (error) {
      say(error.message);
      cards = [];
    }
    queue = queueOf(cards);
    showCard();
  };

  const imported = async ({ target }) => {
    try {
      const progress = checked(JSON.parse(await target.files[0].text()));
      writeProgress(({ cards: known }) => Object.assign(known, progress.cards));
      say(`${Object.keys(progress.cards).length} cards imported.`);
      queue = queueOf(cards);
      showCard();
    } catch {
      say("This file was not exported from this page.");
    }
    target.value = "";
  };

  for (const [name, title] of names) choice.deck.add(new Option(title, name));
  const before = readProgress();
  if (names.some(([name]) => name === before.deck)) choice.deck.value = before.deck;
  choice.kind.value = before.kind ?? "";
  const page = new URLSearchParams(location.search).get("page"); // set by links from other pages
  const linked = names.find(([name]) => page === name || page?.startsWith(`${name}/`));
  if (linked) [choice.deck.value] = linked;
  choice.addEventListener("change", choose);
  choice.addEventListener("submit", (event) => event.preventDefault());
  button("show").addEventListener("click", showAnswer);
  button("knew").addEventListener("click", () => mark(true));
  button("not-yet").addEventListener("click", () => mark(false));
  button("export").addEventListener("click", exportProgress);
  button("import").addEventListener("change", imported);
  document.addEventListener("keydown", (event) => {
    // Not while another control has the focus: it may need these keys.
    const ours = event.target === document.body || event.target === desk;
    const act = { " ": showAnswer, 1: () => mark(true), 2: () => mark(false) }[event.key];
    if (!ours || !act || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    act();
  });
  choose();
}

practice();
