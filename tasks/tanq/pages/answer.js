"use strict";
// An answer table whose cells show their evidence, by a click or from the keyboard, beside predicted tables.
(() => {
  const {make, count, dim, draw, components, showLineage} = Benchloom;
  const MOVES = {ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1]};
  let system;  // that was chosen last: it stays chosen from question to question

  // Arrows move between the buttons of a table.
  function addArrows(table) {
    table.addEventListener("keydown", (event) => {
      const move = MOVES[event.key];
      const cell = event.target.closest("td");
      if (!move || !cell) return;
      const next = table.rows[cell.parentElement.rowIndex + move[0]]?.cells[cell.cellIndex + move[1]]?.querySelector("button");
      if (!next) return;
      event.preventDefault();
      next.focus();
    });
    return make("div", {class: "scroll"}, table);
  }

  components.answer = ({headers, rows, proofs, predictions, notes = {}, legend = [], ids = []}) => {
    const evidence = make("div", {class: "evidence", "aria-live": "polite"}, dim("Choose a cell to see its evidence."));

    function open([row, column], button) {
      const [values, facts] = rows[row][2][column];
      const found = facts.flatMap((fact) => proofs[fact] || []);
      const none = values ? "This page has no evidence for the value." : "No article supports a value here.";
      for (const other of document.querySelectorAll(".cell button[aria-pressed]")) other.removeAttribute("aria-pressed");
      button.setAttribute("aria-pressed", "true");
      evidence.replaceChildren(make("h3", null, `Evidence (${count(found.length)})`),
        make("p", null, make("strong", null, rows[row][0]), ` · ${headers[column]}: ${values || "no value"}`),
        ...(found.length ? draw(found) : [dim(none)]));
      evidence.scrollIntoView({block: "nearest"});
    }

    // A cell: with a place in the answer it is a button that opens its evidence. place: [row, column], or null.
    function showCell(text, state, place, more) {
      const shown = text === "" ? "\u2013" : text;
      const note = notes[state];
      const inside = make(place ? "button" : "span", place ? {type: "button", title: note || "Show the evidence"} : null, shown);
      if (place) inside.addEventListener("click", () => open(place, inside));
      return make("td", {class: `cell ${state || ""}`, title: note || null}, inside, more ? " " : null, more,
        note ? make("span", {class: "unseen"}, ` (${note})`) : null);
    }

    // states: of each row its name's and its cells'; null colours nothing.
    function showAnswer(states) {
      const head = make("tr", null, make("th", null, "entity"), ...headers.map((header) => make("th", null, make("span", null, header))));
      const lines = rows.map(([label, passes, cells], row) => {
        const state = (number) => (passes && states ? states[row][number] : "");
        return make("tr", {class: passes ? null : "fails"},
          showCell(label, state(0), null, passes ? null : make("span", {class: "dim"}, "fails the filter")),
          ...cells.map(([values], column) => showCell(values, state(column + 1), [row, column])));
      });
      return addArrows(make("table", {class: "answer-table"}, make("thead", null, head), make("tbody", null, ...lines)));
    }

    if (!predictions) return [make("h3", null, "Answer"), showAnswer(null), evidence];

    const answer = make("div", null);
    const predicted = make("div", null);
    const more = make("div", null);
    const select = make("select", {id: "system"}, ...predictions.map((row, place) => make("option", {value: place}, row.system)));
    function choose() {
      const row = predictions[select.value];
      const lines = (row.cells || []).map((cells) => make("tr", null, ...cells.map(([text, state, place]) => (state === "head"
        ? make("th", null, make("span", null, text)) : showCell(text, state, place)))));
      system = row.system;
      answer.replaceChildren(showAnswer(row.states));
      predicted.replaceChildren(...(row.cells ? [addArrows(make("table", {class: "answer-table predicted"}, make("tbody", null, ...lines)))] : []),
        ...(row.note ? [dim(row.note)] : []));
      more.replaceChildren(...draw([...row.blocks, ["ids", [["prediction", row.traced[1]], ...ids]]]), ...showLineage(document.body.dataset.artifact, [row.traced]));
    }
    select.value = String(Math.max(0, predictions.findIndex((row) => row.system === system)));
    select.addEventListener("change", choose);
    choose();
    return [
      make("div", {class: "sides"},
        make("section", {"aria-label": "Answer"}, make("h3", null, "Answer"), answer),
        make("section", {"aria-label": "Predicted table"}, make("h3", null, make("label", null, "Predicted by ", select)), predicted)),
      make("p", {class: "states"}, ...legend.map((state) => make("span", {class: `cell ${state}`}, notes[state]))),
      evidence, more,
    ];
  };
})();
