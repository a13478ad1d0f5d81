"use strict";
// The viewer of interactions: an item with its database, and what one agent did with it and was told of it.
Benchloom.want("rows", (data) => {
  const {make, count, browse, mark, dim, showCalls, showIds, sql, said, tellRows, showRows, showItem} = Benchloom;
  const STEPS = {IP: "Interaction planning", TE: "Tool employment", IS: "Information synthesis"};
  const itemOf = (row) => data.items[row.item];
  const good = (verdict) => ({Match: "good", Perfect: "good", "Not Match": "bad", Imperfect: "bad"}[verdict]
    || (/^[45] of 5$/.test(verdict) ? "good" : /^[12] of 5$/.test(verdict) ? "bad" : "off"));
  const markVerdict = (verdict) => mark(verdict || "no verdict", good(verdict));

  function showQuery([, text, result, error], number) {
    const found = error ? make("span", {class: "error"}, "error") : make("span", {class: "dim"}, tellRows(result[3]));
    return make("details", {class: "query", open: "open", id: `query-${number}`}, make("summary", null, make("strong", null, `Query ${number}`), " · ", found),
      make("div", {class: "inside"}, sql(text), ...(error ? [said(error, "error")] : showRows(result))));
  }

  // The steps in their order; a query's has what came of it. What stands elsewhere in full is left out.
  function showSteps(row) {
    let number = 0;
    const steps = row.steps.flatMap(([kind, text]) => {
      if (kind === "query" && number < row.queries.length) return [showQuery(row.queries[number], ++number)];
      if ((kind === "plan" && text === row.plan) || (kind === "answer" && text === row.answer)) return [];
      return [make("div", {class: "step"}, make("span", {class: "who"}, kind), said(text))];
    });
    const others = row.queries.slice(number).map((query, place) => showQuery(query, number + place + 1));
    return [...steps, ...others];
  }

  // Each sentence with the queries whose rows have what it states; of an agent without queries, the plain text.
  function showAnswer(row) {
    if (!row.queries.length) return said(row.answer, "reply response");
    const told = row.rests_on.flatMap(([sentence, numbers]) => [sentence, " ", ...(numbers.length
      ? numbers.flatMap((number) => [showLink(number), " "]) : [make("span", {class: "dim"}, "(in no query's rows) ")])]);
    return make("p", {class: "said reply response"}, ...told);
  }

  function showLink(number) {
    const link = make("button", {type: "button", class: "bears", title: "Show the query whose rows have it"}, `query ${number}`);
    link.addEventListener("click", () => {
      const query = document.getElementById(`query-${number}`);
      query.open = true;
      query.scrollIntoView({block: "center"});
      query.querySelector("summary").focus();
    });
    return link;
  }

  function showWork(row) {
    const steps = showSteps(row);
    return [
      make("h3", null, "Plan of ", mark(row.agent), " ", mark(row.model)),
      row.plan ? said(row.plan) : dim("It makes none."),
      make("h3", null, `Steps (${count(steps.length)})`), ...(steps.length ? steps : [dim("None but its answer.")]),
      ...(row.left_out.length ? [dim(`Left out of its prompts for lack of room: ${row.left_out.join("; ")}.`)] : []),
      make("h3", null, "Answer ", markVerdict(row.verdict)),
      row.answer === null ? said(`No answer: ${row.problem}`, "reply response") : showAnswer(row),
      ...(row.answer !== null && row.problem ? [dim(`Problem: ${row.problem}`)] : []),
      make("h3", null, "Held against the reference"),
      row.reason ? said(row.reason) : dim(row.verdict_problem || "No reason was given."),
      ...(row.reason && row.verdict_problem ? [dim(`Problem: ${row.verdict_problem}`)] : []),
    ];
  }

  function showReviews(title, reviews, silent, numbered = true) {
    return make("div", null, make("h4", null, title), ...(reviews.length ? reviews.map(([reviewer, verdict, rationale, problem]) =>
      make("p", null, numbered ? make("span", {class: "dim"}, `${reviewer + 1} `) : null, markVerdict(verdict),
        rationale || problem || silent, rationale && problem ? make("span", {class: "dim"}, ` (${problem})`) : null)) : [dim("None.")]));
  }

  function showPeers([step, reviews, metas, revision, label, problem]) {
    const revised = showReviews("Revision", revision, "every meta-review says so", false);
    revised.append(make("h4", null, "Error"), label ? make("p", null, mark(label.replaceAll("_", " "), "bad"), problem) : dim("None was named."));
    return [make("h3", null, `${step}: ${STEPS[step]}`), make("div", {class: "peers"},
      showReviews("Reviews", reviews, "no rationale"), showReviews("Meta-reviews", metas, "no rationale"), revised)];
  }

  function showInteraction(row) {
    const others = data.rows.filter((each) => each.item === row.item && each !== row);
    return [
      ...showItem(itemOf(row)),
      ...showWork(row),
      ...(row.peers.length ? row.peers.flatMap(showPeers) : [make("h3", null, "Reviews"), dim("Nobody reviewed its steps.")]),
      ...(others.length ? [make("h3", null, "The same question to others"), make("ul", {class: "siblings"}, ...others.map((each) => make("li", null,
        make("a", {href: `#interaction=${encodeURIComponent(each.id)}`}, `${each.agent} · ${each.model}`), " ", markVerdict(each.verdict))))] : []),
      ...showCalls("Calls", row.calls),
      ...showIds({interaction: row.id, item: row.item, "confirmed by": itemOf(row).confirmed_by,
        "made from": [...row.origin.filter((each) => !each.startsWith("call ")), ...itemOf(row).origin].join(", ")}),
    ];
  }

  browse({
    rows: data.rows, noun: "interaction", nouns: "interactions",
    id: (row) => row.id,
    title: (row) => itemOf(row).question,
    marks: (row) => [mark(row.agent), mark(row.model), markVerdict(row.verdict), mark(itemOf(row).kind, "off"), mark(itemOf(row).database, "off")],
    texts: (row) => [itemOf(row).question, itemOf(row).reference, row.plan, row.answer || "", row.reason,
      ...row.steps.map((step) => step[1]), ...row.queries.map((query) => query[1]),
      ...row.peers.flatMap((peer) => [...peer[1], ...peer[2], ...peer[3]].map((review) => review[2]))],
    ids: (row) => [row.id, row.item],
    selects: {
      database: {read: (row) => itemOf(row).database}, kind: {read: (row) => itemOf(row).kind},
      agent: {read: (row) => row.agent}, model: {read: (row) => row.model}, verdict: {read: (row) => row.verdict},
    },
    detail: (row) => showInteraction(row).filter(Boolean),
  });
});
