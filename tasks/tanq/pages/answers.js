"use strict";
// An answer table whose cells show their evidence, by a click or from the keyboard, with what names the value marked.
(() => {
  const {make, count, mark, dim, showPassage} = Benchloom;
  const STATES = {
    right: "as in the answer", partial: "some of the answer's values, or none", wrong: "not the answer's",
    missing: "not in the predicted table", untold: "the answer has no value here", found: "in the answer too",
    other: "no row of the answer", unrequested: "a column not asked for", failing: "its row fails the filter",
  };
  const MOVES = {ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1]};
  const said = (text, kind) => make("p", {class: `said ${kind || ""}`}, text);
  const isNamed = (state) => state in STATES;
  const note = (state) => (isNamed(state) ? STATES[state] : "");

  // The text with every place where the words stand as whole words, in any case, marked.
  function markWords(text, words) {
    const wanted = words.trim().replace(/[.*+?^${}()|[\]\\/]/g, "\\$&");
    if (!wanted) return [text];
    const nodes = [];
    let place = 0;
    for (const match of text.matchAll(new RegExp(`(?<![\\p{L}\\p{N}])${wanted}(?![\\p{L}\\p{N}])`, "giu"))) {
      nodes.push(text.slice(place, match.index), make("mark", null, match[0]));
      place = match.index + match[0].length;
    }
    return [...nodes, text.slice(place)];
  }

  function showProof([id, article, revision, section, parent, kind, headers, text, whole, words, label, supports]) {
    const place = [parent, section].filter(Boolean).join(" / ");
    return make("li", {class: "proof"},
      make("p", {class: "from"}, make("strong", null, article), place ? ` · ${place}` : "",
        make("span", {class: "dim"}, ` · ${kind}${headers.length ? ` (${headers.join(", ")})` : ""}${revision === null ? "" : ` · revision ${revision}`} `),
        mark(label, supports ? "good" : "bad")),
      make("blockquote", null, ...markWords(text, words)),
      whole && whole !== text ? make("p", {class: "dim"}, `The row: ${whole}`) : null,
      make("span", {class: "dim mono"}, id));
  }

  // The evidence of a cell of the answer.
  function showEvidence(item, row, column) {
    const {label, values, facts} = {label: item.rows[row][0], values: item.rows[row][2][column][0], facts: item.rows[row][2][column][1]};
    const proofs = facts.flatMap((fact) => item.proofs[fact] || []);
    return [
      make("h3", null, `Evidence (${count(proofs.length)})`),
      make("p", null, make("strong", null, label), ` · ${item.headers[column]}: ${values.join(", ") || "no value"}`),
      ...(proofs.length ? [make("ul", {class: "proofs"}, ...proofs.map(showProof))]
        : [dim(values.length ? "No proof of it is on this page." : "Nothing in the articles bears a value out.")]),
    ];
  }

  // A cell: with a place in the answer it is a button that opens its evidence. place: [row, column], or null.
  function makeCell(text, state, place, open) {
    const shown = text === "" ? "\u2013" : text;
    const inside = place === null ? make("span", null, shown)
      : make("button", {type: "button", "data-place": place.join(","), title: note(state) || "Show its evidence"}, shown);
    if (place !== null) inside.addEventListener("click", () => open(place, inside));
    return make("td", {class: `cell ${isNamed(state) ? state : ""}`, title: note(state) || null},
      inside, isNamed(state) ? make("span", {class: "unseen"}, ` (${note(state)})`) : null);
  }

  // Arrows move between the buttons of a table.
  function addArrows(table) {
    table.addEventListener("keydown", (event) => {
      const move = MOVES[event.key];
      const cell = event.target.closest("td");
      if (!move || !cell) return;
      const row = cell.parentElement;
      const next = table.rows[row.rowIndex + move[0]]?.cells[cell.cellIndex + move[1]]?.querySelector("button");
      if (!next) return;
      event.preventDefault();
      next.focus();
    });
    return make("div", {class: "scroll"}, table);
  }

  // states: of each row its name's and its cells'; null colours nothing.
  function showAnswer(item, states, open) {
    const head = make("tr", null, make("th", null, "entity"), ...item.headers.map((header) => make("th", null, make("span", null, header))));
    const rows = item.rows.map(([label, passes, cells], row) => {
      const state = (number) => (passes && states ? states[row][number] : "");
      return make("tr", {class: passes ? null : "fails"},
        make("td", {class: `cell ${state(0)}`, title: note(state(0)) || null}, make("span", null, label), passes ? null : " ", passes ? null : make("span", {class: "dim"}, "fails the filter"),
          isNamed(state(0)) ? make("span", {class: "unseen"}, ` (${note(state(0))})`) : null),
        ...cells.map(([values], column) => makeCell(values.join(", "), state(column + 1), [row, column], open)));
    });
    return addArrows(make("table", {class: "answer-table"}, make("thead", null, head), make("tbody", null, ...rows)));
  }

  function showQuestion(item) {
    return [
      make("h3", null, "Question ", mark(item.kind, "off")), make("p", {class: "question"}, item.question),
      ...(item.skills.length ? [make("p", null, ...item.skills.flatMap(([name, words]) => [mark(name), " ", make("span", {class: "dim"}, words), " "]))] : []),
      ...(item.through.length ? [dim(`By way of ${item.through.join(", ")}.`)] : []),
      ...(item.steps.length ? [showPassage("How its text came about", [], ...item.steps.flatMap(([name, text]) => [make("h4", null, name), said(text)]))] : []),
    ];
  }

  // Where evidence is shown; it follows the last cell that was chosen.
  function makeEvidence(item) {
    const place = make("div", {class: "evidence", "aria-live": "polite"}, dim("Choose a cell to see its evidence."));
    return [place, (where, button) => {
      for (const other of document.querySelectorAll(".cell button[aria-pressed]")) other.removeAttribute("aria-pressed");
      button.setAttribute("aria-pressed", "true");
      place.replaceChildren(...showEvidence(item, ...where));
      place.scrollIntoView({block: "nearest"});
    }];
  }

  Object.assign(Benchloom, {said, makeCell, addArrows, showAnswer, showQuestion, makeEvidence, STATES});
})();
