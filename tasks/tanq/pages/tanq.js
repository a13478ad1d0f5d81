"use strict";
// The viewer of an evaluation: a question, its answer and a predicted table side by side, and what the agent did.
Benchloom.want("rows", (data) => {
  const {make, count, browse, mark, dim, showPassage, showCalls, showIds, showLineage, said, makeCell, addArrows, showAnswer, showQuestion, makeEvidence, STATES} = Benchloom;
  const RULES = {released: "released rule", paper: "paper's rule"};
  const listOf = (item) => data.predictions[item.id] || [];
  let system = data.systems[0];

  function showScores(scores) {
    const lines = Object.entries(scores).map(([rule, values]) => make("tr", null, make("th", {scope: "row"}, RULES[rule] || rule), ...values.map((value) => make("td", {class: "n"}, value.toFixed(1)))));
    return make("table", {class: "scores"}, make("thead", null, make("tr", null, make("th", null, "x100"), ...["precision", "recall", "F1"].map((name) => make("th", {class: "n"}, name)))), make("tbody", null, ...lines));
  }

  function showPredicted(row, open) {
    if (row.failed) return [dim(`No reply: ${row.failed}`)];
    if (row.rows === null) return [dim("No table could be read in the reply.")];
    const lines = row.rows.map((cells) => make("tr", null, ...cells.map(([text, state, gold]) => (state === "head"
      ? make("th", null, make("span", null, text)) : makeCell(text, state, gold, open)))));
    return [addArrows(make("table", {class: "answer-table predicted"}, make("tbody", null, ...lines))),
      ...(row.turned ? [dim("Its entities stood in its first row: it is shown turned.")] : [])];
  }

  function showSteps(steps) {
    return steps.map(([agent, thought, tool, argument, result], place) => make("div", {class: `step ${agent === "main" ? "" : "sub"}`},
      make("span", {class: "who"}, `${place + 1} · ${agent === "main" ? "main agent" : `sub-agent: ${agent}`}`),
      thought ? said(thought) : null,
      tool || argument ? make("p", {class: "mono"}, tool ? `${tool}(${argument})` : `Found: ${argument}`) : null,
      result ? make("pre", null, result) : null));
  }

  function showMore(row) {
    const tags = [...row.failures.map((kind) => mark(kind, "bad")), ...(row.faults || []).map((fault) => mark(`chain: ${fault}`, "bad"))];
    return [
      make("p", null, ...(tags.length ? tags.flatMap((tag) => [tag, " "]) : [row.failed ? "" : mark("no failure that a rule can tell", "good")])),
      ...(Object.keys(row.scores).length ? [showScores(row.scores)] : []),
      ...(row.steps.length ? [showPassage(`Steps of the agent (${count(row.steps.length)})`, [], ...showSteps(row.steps))] : []),
      ...(row.reply ? [showPassage("The whole reply", [], said(row.reply))] : []),
      ...(row.left_out.length ? [showPassage(`Left out for lack of room (${count(row.left_out.length)})`, [], make("ul", {class: "plain mono"}, ...row.left_out.map((one) => make("li", null, one))))] : []),
      ...showCalls("Calls", row.calls),
    ];
  }

  const legend = () => make("p", {class: "legend"}, ...["right", "partial", "wrong", "missing", "other", "unrequested", "failing"]
    .map((state) => make("span", {class: `cell ${state}`}, STATES[state])));

  function showItem(item) {
    const rows = listOf(item);
    const [evidence, open] = makeEvidence(item);
    const answer = make("div", null);
    const predicted = make("div", null);
    const more = make("div", null);
    const select = make("select", {id: "system"}, ...rows.map((row, place) => make("option", {value: place}, row.system)));
    function choose() {
      const row = rows[select.value];
      system = row.system;
      answer.replaceChildren(showAnswer(item, row.failed ? null : row.states, open));
      predicted.replaceChildren(...showPredicted(row, open));
      more.replaceChildren(...showMore(row), ...showIds({question: item.id, prediction: row.id, "made from": item.origin.join(", ")}),
        ...showLineage(document.body.dataset.artifact, [[row.people ? "human_tables" : "predictions", row.id]]));
    }
    select.value = String(Math.max(0, rows.findIndex((row) => row.system === system)));
    select.addEventListener("change", choose);
    choose();
    return [
      ...showQuestion(item),
      make("div", {class: "sides"},
        make("section", {"aria-label": "Answer"}, make("h3", null, "Answer"), answer),
        make("section", {"aria-label": "Predicted table"}, make("h3", null, make("label", null, "Predicted by ", select)), predicted)),
      legend(), evidence, more,
    ];
  }

  browse({
    rows: data.rows, noun: "question", nouns: "questions",
    id: (item) => item.id,
    title: (item) => item.question,
    marks: (item) => [mark(item.kind, "off"), ...item.skills.map(([name]) => mark(name)), mark(`${item.rows.filter((row) => row[1]).length} rows`, "off")],
    texts: (item) => [item.question, ...item.headers, ...item.rows.flatMap(([label, , cells]) => [label, ...cells.flatMap(([values]) => values)])],
    ids: (item) => [item.id, ...listOf(item).map((row) => row.id)],
    selects: {
      kind: {read: (item) => item.kind},
      skill: {read: (item) => item.skills.map(([name]) => name), options: [["", "any"], ...list((item) => item.skills.map(([name]) => name))]},
      failure: {read: (item) => listOf(item).flatMap((row) => row.failures), options: [["", "any"], ...list((item) => listOf(item).flatMap((row) => row.failures))]},
    },
    detail: (item) => showItem(item),
    traced: () => [],  // of the prediction that is chosen, beside its ids
  });

  function list(read) {
    return [...new Set(data.rows.flatMap(read))].sort().map((one) => [one, one]);
  }
});
