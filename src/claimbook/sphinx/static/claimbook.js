// The ledger's filter. Without JavaScript the ledger is whole, and only the filter is missing.

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
      const frame = table.closest(".table-wrapper") ?? table;
      frame.hidden = !inTable;
      const title = frame.previousElementSibling;
      if (title?.classList.contains("rubric")) title.hidden = !inTable;
      count += inTable;
    }
    bar.querySelector("[role=status]").textContent = `${count} entries`;
  };
  bar.addEventListener("input", show);
  bar.addEventListener("submit", (event) => event.preventDefault());
  show();
}

ledgerFilter();
