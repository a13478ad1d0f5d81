"use strict";
// The browser of a dataset's questions. Rows come as lists that point at each other by number:
// templates [id, sql, calls, columns], texts [id, template, criterion, text, calls],
// groups [id, template, sql, fillings, answer, rows], questions [id, group, text, question, balanced].
Benchloom.want("questions", (data) => {
  const {make, paint, count, browse, mark, dim, showCalls, showIds} = Benchloom;
  const [ID, GROUP, TEXT, WORDS, BALANCED] = [0, 1, 2, 3, 4];
  let siblings;  // filled when a question is first opened

  function findSiblings(row) {
    if (!siblings) {
      siblings = new Map();
      for (const each of data.questions) {
        if (!siblings.has(each[GROUP])) siblings.set(each[GROUP], []);
        siblings.get(each[GROUP]).push(each);
      }
    }
    return siblings.get(row[GROUP]).filter((each) => each !== row);
  }

  const criteria = [...new Set(data.texts.map((text) => text[2]))].sort();
  const criterionOf = (row) => data.texts[row[TEXT]][2];
  const shorten = (text, length) => (text.length > length ? `${text.slice(0, length - 1)}…` : text);

  function showRows(text, columns) {
    let rows;
    try { rows = JSON.parse(text); } catch { rows = null; }
    if (!Array.isArray(rows) || !rows.every(Array.isArray)) return make("pre", null, text);
    const head = rows[0]?.length === columns?.length ? make("thead", null, make("tr", null, ...columns.map((name) => make("th", null, name)))) : null;
    return make("div", {class: "scroll"}, make("table", null, head, make("tbody", null,
      ...rows.slice(0, 50).map((row) => make("tr", null, ...row.map((cell) => make("td", null, cell === null ? "NULL" : String(cell))))))));
  }

  function showQuestion(row) {
    const group = data.groups[row[GROUP]];
    const text = data.texts[row[TEXT]];
    const template = data.templates[text[1]];
    const others = findSiblings(row);
    return [
      make("h3", null, "Question ", mark(text[2])),
      make("p", {class: "question"}, row[WORDS]),
      make("h3", null, "Answer"), make("p", {class: "reply"}, group[4]),
      make("h3", null, "Query"), make("pre", {class: "sql"}, ...paint(group[2], true, false)),
      make("h3", null, "Its result"), showRows(group[5], template[3]),
      make("h3", null, `The same question in other words (${count(others.length)})`),
      others.length ? make("ul", {class: "siblings"}, ...others.slice(0, 20).map((each) => make("li", null,
        make("a", {href: `#question=${encodeURIComponent(each[ID])}`}, each[WORDS]), " ", mark(criterionOf(each)))))
        : dim("None."),
      make("h3", null, "Made from"),
      make("pre", null, ...paint(text[3], false)), make("pre", {class: "sql"}, ...paint(template[1], true)),
      ...showCalls("Calls behind the wording", text[4]),
      ...showCalls("Calls behind the SQL template", template[2]),
      ...showIds({question: row[ID], group: group[0], text: text[0], "SQL template": template[0]}),
    ];
  }

  const browser = browse({
    rows: data.questions, noun: "question", nouns: "questions",
    id: (row) => row[ID],
    title: (row) => row[WORDS],
    marks: (row) => [mark(criterionOf(row)), row[BALANCED] ? null : mark("not in the balanced set", "off"),
      make("span", {class: "answer"}, data.groups[row[GROUP]][4])].filter(Boolean),
    texts: (row) => [row[WORDS], data.groups[row[GROUP]][4], data.groups[row[GROUP]][2]],
    ids: (row) => [row[ID], data.groups[row[GROUP]][0]],
    selects: {
      set: {read: (row) => (row[BALANCED] ? "balanced" : ""), options: [["balanced", "balanced"], ["", "all"]]},
      criterion: {read: criterionOf},
      template: {read: (row) => String(data.texts[row[TEXT]][1]),
        options: [["", "any"], ...data.templates.map((template, place) => [String(place), shorten(template[1], 90)])]},
    },
    detail: showQuestion,
    traced: (row) => [[row[BALANCED] ? "balanced" : "unbalanced", row[ID]]],
  });

  const tally = data.templates.map(() => ({groups: 0, questions: 0, texts: new Map()}));
  for (const group of data.groups) tally[group[1]].groups += 1;
  for (const row of data.questions) if (row[BALANCED]) tally[data.texts[row[TEXT]][1]].questions += 1;
  for (const text of data.texts) tally[text[1]].texts.set(text[2], (tally[text[1]].texts.get(text[2]) || 0) + 1);
  const body = data.templates.map((template, place) => {
    const button = make("button", {type: "button", "aria-label": `Show the ${tally[place].questions} questions of this template`}, count(tally[place].questions));
    button.addEventListener("click", () => {
      browser.narrow(`template=${place}&set=balanced`);
      document.getElementById("browse").scrollIntoView();
    });
    return make("tr", null, make("td", null, make("code", {class: "sql"}, ...paint(template[1], true))),
      ...criteria.map((name) => make("td", {class: "n"}, count(tally[place].texts.get(name) || 0))),
      make("td", {class: "n"}, count(tally[place].groups)), make("td", {class: "n"}, button));
  });
  document.getElementById("template-list").replaceChildren(make("div", {class: "scroll"}, make("table", null,
    make("thead", null, make("tr", null, make("th", null, "SQL with placeholders"), ...criteria.map((name) => make("th", {class: "n"}, `${name} texts`)),
      make("th", {class: "n"}, "groups"), make("th", {class: "n"}, "questions, balanced"))),
    make("tbody", null, ...body))));
});
