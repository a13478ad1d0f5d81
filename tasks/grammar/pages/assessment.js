"use strict";
// The browser of an assessment's questions: what was asked, retrieved, said, judged, and put down to whom.
Benchloom.want("questions", (data) => {
  const {make, count, browse, mark, dim, showPassage, showCalls, showIds} = Benchloom;
  const groups = new Map(data.groups.map((group) => [group.id, {...group, rows: []}]));
  for (const row of data.questions) groups.get(row.group).rows.push(row);
  const documents = new Map(data.documents.map((each) => [each.id, each]));

  const value = (name) => document.getElementById(`by-${name}`).value;
  const told = (row) => row.modes[value("mode")];
  const moduleOf = (row) => told(row)?.modules[value("rule")] || "";
  const outcomeOf = (row) => told(row)?.outcome || "unscored";
  const markSaid = (said) => mark(said, said === "Correct" ? "good" : said === "Incorrect" ? "bad" : "off");

  function showRetrieved(row) {
    if (row.passages === null) return [dim("The system does not show what it retrieved.")];
    if (!row.passages.length) return [dim("Nothing.")];
    return row.passages.map((each) => showPassage(each.title || each.document,
      [...((row.true || []).includes(each.document) ? [mark("true document", "good")] : []), make("span", {class: "dim"}, ` score ${each.score}`)], each.text));
  }

  function showTrue(row) {
    if (row.true === null) return [dim("Not known.")];
    if (!row.true.length) return [dim("None.")];
    return row.true.map((id) => {
      const document = documents.get(id) || {title: "", text: "This document is not in the corpus."};
      const note = data.withheld.includes(id) ? "withheld on purpose" : document.title ? "" : "not written";
      return showPassage(document.title || id, [make("span", {class: "dim"}, note)], document.text);
    });
  }

  function showModes(row) {
    const body = Object.entries(row.modes).flatMap(([name, each]) => data.rules.map((rule) => make("tr", null,
      make("td", null, name), make("td", null, each.outcome), make("td", null, each.tag), make("td", {class: "mono"}, rule),
      make("td", null, each.sufficient[rule] === null ? "not told" : each.sufficient[rule] ? "enough" : "not enough"),
      make("td", null, each.outcome === "Correct" ? "" : each.modules[rule] || "not told"))));
    if (!body.length) return dim("An unscored row tags no group and is put down to nobody.");
    return make("div", {class: "scroll"}, make("table", null,
      make("thead", null, make("tr", null, ...["mode", "outcome", "group", "context rule", "context", "put down to"].map((name) => make("th", null, name)))),
      make("tbody", null, ...body)));
  }

  function showBaseline(each) {
    return showPassage(each.method.replaceAll("_", " "),
      [mark(each.verdict || "unscored", each.verdict ? "" : "off"), make("span", {class: "dim"}, each.problem ? ` ${each.problem}` : ` share ${each.share}`)],
      make("ul", {class: "plain"}, ...each.parts.map((part) => make("li", null, `${part.holds}${part.rule ? ` (by rule: ${part.rule})` : ""}: ${part.text}`))));
  }

  function showAnswer(row) {
    const group = groups.get(row.group);
    const others = group.rows.filter((each) => each !== row);
    return [
      make("h3", null, "Question ", mark(row.criterion), " ", row.sets.join(", ")),
      make("p", {class: "question"}, row.question),
      make("h3", null, "True answer"), make("p", {class: "reply"}, group.answer),
      make("h3", null, "Response"), make("p", {class: "reply response"}, row.response === null ? `No answer: ${row.problem}` : row.response),
      make("h3", null, "Judgement"),
      make("p", {class: "verdicts"}, markSaid(row.judgement || "unscored"),
        make("span", {class: "dim"}, row.verdicts.length > 1 ? `verdicts: ${row.verdicts.join(", ")}` : row.judge_problem)),
      make("h3", null, `Retrieved (${row.passages ? count(row.passages.length) : "not shown"})`), ...showRetrieved(row),
      make("h3", null, "True documents"), ...showTrue(row),
      make("h3", null, "Put down to"), showModes(row),
      make("h3", null, `The same question in other words (${count(others.length)})`),
      others.length ? make("ul", {class: "siblings"}, ...others.map((each) => make("li", null,
        make("a", {href: `#question=${encodeURIComponent(each.id)}`}, each.question), " ", markSaid(outcomeOf(each)), " ", mark(each.criterion, "off"))))
        : dim("None."),
      ...(row.baselines.length ? [make("h3", null, "Reference-free methods"), ...row.baselines.map(showBaseline)] : []),
      ...showCalls("Calls", row.calls),
      ...showIds({question: row.id, group: row.group, answer: row.answer}),
    ];
  }

  const any = (names) => [["", "any"], ...names.map((name) => [name, name])];
  const each = (names) => names.map((name) => [name, name]);
  browse({
    rows: data.questions, noun: "question", nouns: "questions",
    id: (row) => row.id,
    title: (row) => row.question,
    marks: (row) => [markSaid(outcomeOf(row)), mark(told(row)?.tag || "no tag", "off"), mark(row.criterion, "off"),
      ...(moduleOf(row) ? [mark(moduleOf(row), "bad")] : [])],
    texts: (row) => [row.question, groups.get(row.group).answer, row.response || ""],
    ids: (row) => [row.id, row.group],
    selects: {
      set: {read: (row) => row.sets, options: any([...new Set(data.questions.flatMap((row) => row.sets))].sort())},
      mode: {options: each(data.modes), value: data.mode},
      rule: {options: each(data.rules), value: data.rule},
      tag: {read: (row) => told(row)?.tag, options: any(["gap", "non-robust", "robust"])},
      criterion: {read: (row) => row.criterion},
      judgement: {read: outcomeOf, options: any(["Correct", "Incorrect", "unscored"])},
      module: {read: moduleOf, options: any(data.modules)},
    },
    detail: showAnswer,
    traced: (row) => [["answers", row.answer], ["questions", row.id]],
  });
});
