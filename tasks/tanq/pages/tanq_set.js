"use strict";
// The viewer of a question set: each question with its answer, and the evidence of every cell.
Benchloom.want("rows", (data) => {
  const {make, browse, mark, showCalls, showIds, showAnswer, showQuestion, makeEvidence} = Benchloom;
  const skillsOf = (item) => item.skills.map(([name]) => name);

  browse({
    rows: data.rows, noun: "question", nouns: "questions",
    id: (item) => item.id,
    title: (item) => item.question,
    marks: (item) => [mark(item.kind, "off"), ...skillsOf(item).map((name) => mark(name)), mark(`${item.rows.filter((row) => row[1]).length} rows`, "off")],
    texts: (item) => [item.question, ...item.headers, ...item.rows.flatMap(([label, , cells]) => [label, ...cells.flatMap(([values]) => values)])],
    ids: (item) => [item.id],
    selects: {
      kind: {read: (item) => item.kind},
      skill: {read: skillsOf, options: [["", "any"], ...[...new Set(data.rows.flatMap(skillsOf))].sort().map((name) => [name, name])]},
      shape: {read: (item) => item.shape},
    },
    detail: (item) => {
      const [evidence, open] = makeEvidence(item);
      return [...showQuestion(item), make("h3", null, "Answer"), showAnswer(item, null, open), evidence,
        ...showCalls("Calls", data.calls[item.id] || []),
        ...showIds({question: item.id, shape: item.shape, source: item.source, "made from": item.origin.join(", ")})];
    },
  });
});
