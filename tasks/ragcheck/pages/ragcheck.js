"use strict";
// The browser of answers (Part I) and of conversations (Part II).
Benchloom.want("rows", (data) => {
  const {make, count, browse, mark, dim, showPassage, showCalls, showIds} = Benchloom;
  const paragraph = (text, kind) => make("p", {class: kind}, text);
  const plain = (text) => text.replaceAll("_", " ");

  function showScore(score, kind) {
    const level = score === null ? "" : score >= 4 ? "high" : score <= 2 ? "low" : "";
    const said = score === null ? "no grade" : score === 0 ? "0, not sure" : `${score} of 5`;
    return make("span", {class: `grade ${level} ${kind || ""}`, title: said}, score === null ? "none" : String(score));
  }

  function showContexts(title, passages) {
    return [make("h3", null, `${title} (${count(passages.length)})`), ...(passages.length
      ? passages.map(([name, text, score]) => showPassage(name, [make("span", {class: "dim"}, `score ${score}`)], text)) : [dim("Nothing.")])];
  }

  function showQuestion(row) {
    return [
      make("h3", null, "Question ", mark(row.dataset, "off")),
      make("p", {class: "question", lang: row.language}, row.question),
      ...(row.history.length ? [make("details", null, make("summary", null, `What was said before (${count(row.history.length)})`),
        ...row.history.flatMap(([asked, said]) => [make("div", {class: "say asked"}, asked), make("div", {class: "say said"}, said)]))] : []),
      make("h3", null, "Reference"), make("p", {class: "reply", lang: row.language}, row.reference),
    ];
  }

  function showGrade(who, [score, feedback, problem], kind) {
    return make("p", {class: "note"}, make("span", {class: "who"}, who), showScore(score, kind), " ", feedback,
      problem ? make("span", {class: "dim"}, ` (${problem})`) : null);
  }

  function showAnswer(row) {
    return [
      ...showQuestion(row),
      make("h3", null, "Response of ", mark(row.system)),
      paragraph(row.response === null ? `No answer: ${row.problem}` : row.response, "reply response"),
      make("h3", null, "Grades"),
      ...(row.grades.length ? row.grades.map(([rule, judge, ...grade]) => showGrade(`${rule} · ${judge}`, grade)) : [dim("None.")]),
      ...(row.ratings.length ? [make("h3", null, "People"), make("p", {class: "scorebar"}, ...row.ratings.flatMap(([rater, rating]) => [make("span", {class: "dim"}, rater), showScore(rating)]))] : []),
      make("h3", null, "Without contexts"),
      make("ul", {class: "plain"}, ...row.baselines.map(([measure, value, problem]) => make("li", null,
        `${plain(measure)}: ${value === null ? "" : value.toFixed(3)}`, problem ? make("span", {class: "dim"}, problem) : null))),
      ...Object.entries(row.contexts).flatMap(([rule, passages]) =>
        showContexts(`Contexts ${rule}, by ${rule === "E2" ? "the question" : "question and reference"}`, passages)),
      ...showCalls("Calls", row.calls),
      ...showIds({answer: row.id, question: row.key}),
    ];
  }

  // A text in which the words that it had no right to are marked.
  function paintLeaks(text, guard) {
    const words = guard ? guard[0].filter(Boolean) : [];
    if (!words.length) return [text];
    const escaped = words.map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")).sort((one, other) => other.length - one.length);
    return text.split(new RegExp(`(${escaped.join("|")})`, "iu")).map((part, place) => place % 2 ? make("span", {class: "leak"}, part) : part);
  }

  function showNote(who, text, guard, grade, kind) {
    const leaked = guard && guard[0].length ? make("span", {class: "dim"}, ` (of the reference alone: ${guard[0].join(", ")})`) : null;
    return [make("p", {class: "note"}, make("span", {class: "who"}, who), ...paintLeaks(text, guard), leaked),
      ...(grade ? [showGrade("Judge", grade, kind)] : [])];
  }

  function showTurn(system, turn, number) {
    const probing = turn.guards.T5;
    const last = turn.final_grade || turn.grade;
    return make("section", {class: "turn"},
      make("h3", null, `Turn ${number + 1}`, last ? showScore(last[0]) : null),
      make("div", {class: "say asked"}, make("span", {class: "who"}, number ? "Asked on (T4, T5)" : "Asked"), ...paintLeaks(turn.query, probing)),
      probing && probing[0].length ? dim(`probes: ${probing[0].join(", ")}${probing[1].length ? ` · flagged: ${probing[1].join(", ")}` : ""}`) : null,
      make("div", {class: "say said"}, make("span", {class: "who"}, `Said by ${system}`), turn.said || "(no answer)"),
      ...(turn.tentative ? showNote("Composed (T2)", turn.tentative, turn.guards.T2, turn.grade, turn.final_grade ? "was" : "") : []),
      ...(turn.final === null ? [] : showNote("At the reference's grain (T6)", turn.final, turn.guards.T6, turn.final_grade)));
  }

  function showConversation(row) {
    const [wscore, lscore, mscore] = row.measures;
    const others = data.rows.filter((each) => each.key === row.key && each.id !== row.id);
    return [
      ...showQuestion(row),
      make("h3", null, "Scores of ", mark(row.system)),
      make("p", {class: "scorebar"}, ...row.scores.map((score) => showScore(score)), make("span", {class: "dim"},
        wscore === null ? `failed: ${row.problem}` : `wscore ${wscore.toFixed(3)} · lscore ${lscore} · mscore ${mscore} · ended by ${plain(row.ended)}`)),
      ...(others.length ? [dim("The same question to ", ...others.flatMap((each, place) => [place ? ", " : "",
        make("a", {href: `#row=${encodeURIComponent(each.id)}`}, each.system)]))] : []),
      ...row.turns.map((turn, number) => showTurn(row.system, turn, number)),
      ...showContexts("Contexts that the judge saw (E3)", row.passages),
      ...showCalls("Calls", row.calls),
      ...showIds({conversation: row.id, question: row.key}),
    ];
  }

  // What the filter of Part I looks at: the first judge's grade by E3.
  function gradeOf(row) {
    const grade = row.grades.find((each) => each[0] === "E3") || row.grades[0];
    return row.response === null ? "no answer" : !grade || grade[2] === null ? "no grade" : String(grade[2]);
  }

  const PARTS = {
    answers: {
      marks: (row) => (row.response === null ? [mark("no answer", "bad")]
        : data.judges.map((judge) => make("span", null, data.judges.length > 1 ? `${judge}: ` : "",
          ...row.grades.filter((each) => each[1] === judge).flatMap(([rule, , score]) => [`${rule} `, showScore(score), " "])))),
      texts: (row) => [row.response || "", ...row.grades.map((grade) => grade[3])],
      selects: {score: {read: gradeOf}},
      detail: showAnswer,
    },
    conversations: {
      marks: (row) => (row.ended === "failed" ? [mark("failed", "bad")]
        : [...row.scores.map((score) => showScore(score)), make("span", null, plain(row.ended))]),
      texts: (row) => row.turns.flatMap((turn) => [turn.query, turn.said, turn.tentative, turn.final || "", turn.grade?.[1] || ""]),
      selects: {ended: {read: (row) => row.ended}},
      detail: showConversation,
    },
  };
  const part = PARTS[data.kind];
  browse({
    rows: data.rows, noun: "row", nouns: data.kind,
    id: (row) => row.id,
    title: (row) => row.question,
    marks: (row) => [mark(row.system), ...part.marks(row), mark(row.dataset, "off")],
    texts: (row) => [row.question, row.reference, row.key, ...part.texts(row)],
    ids: (row) => [row.id],
    selects: {system: {read: (row) => row.system}, dataset: {read: (row) => row.dataset}, ...part.selects},
    detail: part.detail,
  });
});
