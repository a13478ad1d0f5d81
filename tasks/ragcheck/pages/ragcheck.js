"use strict";
// The browser of answers (Part I) and of conversations (Part II). Texts are never markup: see core.js.
Benchloom.want("rows", (data) => {
  const {make, readAddress, count, want} = Benchloom;
  const PAGE = 20;
  const get = (id) => document.getElementById(id);
  const byId = new Map(data.rows.map((row) => [row.id, row]));
  const haystack = new Map(data.rows.map((row) => [row.id, gather(row).join("\n").toLowerCase()]));
  const talks = data.kind === "conversations";
  let found = [];
  let page = 0;

  function gather(row) {
    const texts = [row.question, row.reference, row.response || "", row.id, row.key];
    for (const grade of row.grades || []) texts.push(grade[3]);
    for (const turn of row.turns || []) texts.push(turn.query, turn.said, turn.tentative, turn.final || "", turn.grade?.[1] || "");
    return texts;
  }

  const mark = (text, kind) => make("span", {class: `tag ${kind || ""}`}, text);
  const paragraph = (text, kind) => make("p", {class: kind}, text);

  function showScore(score, kind) {
    const level = score === null ? "" : score >= 4 ? "high" : score <= 2 ? "low" : "";
    const said = score === null ? "no grade" : score === 0 ? "0, not sure" : `${score} of 5`;
    return make("span", {class: `grade ${level} ${kind || ""}`, title: said}, score === null ? "none" : String(score));
  }

  // What the filter of Part I looks at: the first judge's grade by E3.
  function gradeOf(row) {
    const grade = row.grades.find((each) => each[0] === "E3") || row.grades[0];
    return row.response === null ? "no answer" : !grade || grade[2] === null ? "no grade" : String(grade[2]);
  }

  const FILTERS = talks
    ? {system: (row) => row.system, dataset: (row) => row.dataset, ended: (row) => row.ended}
    : {system: (row) => row.system, dataset: (row) => row.dataset, score: gradeOf};

  function filter() {
    const words = get("find").value.toLowerCase().split(/\s+/).filter(Boolean);
    const wanted = Object.entries(FILTERS).map(([name, read]) => [get(`by-${name}`).value, read]);
    found = data.rows.filter((row) => wanted.every(([value, read]) => !value || read(row) === value)
      && words.every((word) => haystack.get(row.id).includes(word)));
    page = 0;
    list();
  }

  function list() {
    const pages = Math.max(1, Math.ceil(found.length / PAGE));
    page = Math.min(Math.max(page, 0), pages - 1);
    get("found").textContent = `${count(found.length)} of ${count(data.rows.length)} ${talks ? "conversations" : "answers"}`;
    get("page").textContent = `page ${count(page + 1)} of ${count(pages)}`;
    get("before").disabled = page === 0;
    get("after").disabled = page >= pages - 1;
    const chosen = readAddress().row;
    get("list").replaceChildren(...found.slice(page * PAGE, (page + 1) * PAGE).map((row) => make("li", null,
      make("a", {href: `#row=${encodeURIComponent(row.id)}`, "aria-current": row.id === chosen ? "true" : null},
        row.question,
        make("small", null, mark(row.system), ...summarise(row), mark(row.dataset, "off"))))));
  }

  function summarise(row) {
    if (!talks) return row.response === null ? [mark("no answer", "bad")] : row.grades.map((each) => make("span", {title: `${each[0]} by ${each[1]}`}, `${each[0]} `, showScore(each[2])));
    if (row.ended === "failed") return [mark("failed", "bad")];
    return [...row.scores.map((score) => showScore(score)), make("span", null, row.ended.replaceAll("_", " "))];
  }

  function showPassages(passages) {
    if (!passages.length) return [paragraph("Nothing.", "dim")];
    return passages.map(([title, text, score]) => make("details", {class: "passage"},
      make("summary", null, make("strong", null, title), make("span", {class: "dim"}, ` score ${score}`)),
      make("div", {class: "inside"}, text)));
  }

  function showCall(key, call) {
    if (!call) return make("p", {class: "dim"}, `Call ${key} is not on this page.`);
    return make("details", {class: "call"},
      make("summary", null, make("strong", null, call.prompt), ` · ${call.role} · ${call.model}`,
        make("span", {class: "dim"}, ` · ${count(call.prompt_tokens)} + ${count(call.completion_tokens)} tokens${call.parsed ? "" : " · not parsed"}`)),
      make("div", {class: "inside"},
        ...call.messages.flatMap((message) => [make("h4", null, message.role), make("pre", null, message.content)]),
        make("h4", null, "reply"), make("pre", {class: "text"}, call.text),
        call.problem ? make("p", {class: "dim"}, `Problem: ${call.problem}`) : null,
        make("p", {class: "plain dim"}, `decoding ${call.decoding}${call.epoch ? ` · epoch ${call.epoch}` : ""} · ledger key `, make("span", {class: "mono"}, key))));
  }

  function showCalls(keys) {
    const place = make("div", null, paragraph(keys.length ? "Loading." : "No model was asked.", "dim"));
    if (keys.length) {
      want("calls", (calls) => place.replaceChildren(...keys.map((key) => showCall(key, calls[key]))),
        () => place.replaceChildren(paragraph("calls.js is not beside this page.", "dim")));
    }
    return [make("h3", null, `Calls (${count(keys.length)})`), place];
  }

  function showHistory(row) {
    return row.history.length ? [make("details", null, make("summary", null, `What was said before (${count(row.history.length)})`),
      ...row.history.flatMap(([asked, said]) => [make("div", {class: "say asked"}, asked), make("div", {class: "say said"}, said)]))] : [];
  }

  function showAnswer(row) {
    return [
      make("h3", null, "Response of ", mark(row.system)),
      paragraph(row.response === null ? `No answer: ${row.problem}` : row.response, "reply response"),
      make("h3", null, "Grades"),
      ...(row.grades.length ? row.grades.map(([rule, judge, score, feedback, problem]) => make("p", {class: "note"},
        make("span", {class: "who"}, `${rule} · ${judge}`), showScore(score), " ", feedback,
        problem ? make("span", {class: "dim"}, ` (${problem})`) : null)) : [paragraph("None.", "dim")]),
      ...(row.ratings.length ? [make("h3", null, "People"), make("p", {class: "scorebar"}, ...row.ratings.flatMap(([rater, rating]) => [make("span", {class: "dim"}, rater), showScore(rating)]))] : []),
      make("h3", null, "Without contexts"),
      make("ul", {class: "plain"}, ...row.baselines.map(([measure, value, problem]) => make("li", null,
        `${measure.replaceAll("_", " ")}: ${value === null ? "" : value.toFixed(3)}`, problem ? make("span", {class: "dim"}, problem) : null))),
      ...Object.entries(row.contexts).flatMap(([rule, passages]) => [
        make("h3", null, `Contexts ${rule}, by ${rule === "E2" ? "the question" : "question and reference"}`), ...showPassages(passages)]),
    ];
  }

  // A text in which the words that it had no right to are marked.
  function paintLeaks(text, guard) {
    const words = guard ? guard[0].filter(Boolean) : [];
    if (!words.length) return [text];
    const escaped = words.map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")).sort((one, other) => other.length - one.length);
    return text.split(new RegExp(`(${escaped.join("|")})`, "iu")).map((part, place) => place % 2 ? make("span", {class: "leak"}, part) : part);
  }

  function showNote(who, text, guard, grade, was) {
    const leaked = guard && guard[0].length ? make("span", {class: "dim"}, ` (of the reference alone: ${guard[0].join(", ")})`) : null;
    const lines = [make("p", {class: "note"}, make("span", {class: "who"}, who), ...paintLeaks(text, guard), leaked)];
    if (grade) {
      lines.push(make("p", {class: "note"}, make("span", {class: "who"}, "Judge"), showScore(grade[0], was ? "was" : ""), " ", grade[1],
        grade[2] ? make("span", {class: "dim"}, ` (${grade[2]})`) : null));
    }
    return lines;
  }

  function showTurn(turn, number) {
    const probing = turn.guards.T5;
    return make("section", {class: "turn"},
      make("h3", null, `Turn ${number + 1}`, turn.final_grade ? showScore(turn.final_grade[0]) : turn.grade ? showScore(turn.grade[0]) : null),
      make("div", {class: "say asked"}, ...paintLeaks(turn.query, probing)),
      probing && probing[0].length ? paragraph(`probes: ${probing[0].join(", ")}${probing[1].length ? ` · flagged: ${probing[1].join(", ")}` : ""}`, "dim") : null,
      make("div", {class: "say said"}, turn.said || "(no answer)"),
      ...(turn.tentative ? showNote("Composed (T2)", turn.tentative, turn.guards.T2, turn.grade, Boolean(turn.final_grade)) : []),
      ...(turn.final === null ? [] : showNote("At the reference's grain (T6)", turn.final, turn.guards.T6, turn.final_grade, false)));
  }

  function showConversation(row) {
    const [wscore, lscore, mscore] = row.measures;
    const others = data.rows.filter((each) => each.key === row.key && each.id !== row.id);
    return [
      make("h3", null, "Scores of ", mark(row.system)),
      make("p", {class: "scorebar"}, ...row.scores.map((score) => showScore(score)), make("span", {class: "dim"},
        wscore === null ? `failed: ${row.problem}` : `wscore ${wscore.toFixed(3)} · lscore ${lscore} · mscore ${mscore} · ended by ${row.ended.replaceAll("_", " ")}`)),
      ...(others.length ? [make("p", {class: "dim"}, "The same question to ", ...others.flatMap((each, place) => [place ? ", " : "",
        make("a", {href: `#row=${encodeURIComponent(each.id)}`}, each.system)]))] : []),
      ...row.turns.map(showTurn),
      make("h3", null, "Contexts that the judge saw (E3)"), ...showPassages(row.passages),
    ];
  }

  function show() {
    const wanted = readAddress().row;
    if (wanted === undefined) return;
    const row = byId.get(wanted);
    const detail = get("detail");
    detail.classList.remove("empty");
    if (!row) {
      detail.replaceChildren(make("p", null, "There is no row ", make("code", null, wanted), " here."));
    } else {
      detail.lang = "";
      detail.replaceChildren(
        make("h3", null, "Question ", mark(row.dataset, "off")),
        make("p", {class: "question", lang: row.language}, row.question),
        ...showHistory(row),
        make("h3", null, "Reference"), make("p", {class: "reply", lang: row.language}, row.reference),
        ...(talks ? showConversation(row) : showAnswer(row)),
        ...showCalls(row.calls),
        make("h3", null, "Ids"), make("ul", {class: "plain dim mono"}, make("li", null, row.id), make("li", null, row.key)));
    }
    detail.scrollTop = 0;
    list();
    if (detail.getBoundingClientRect().top < 0 || detail.getBoundingClientRect().top > innerHeight * 0.6) get("browse").scrollIntoView();
  }

  for (const [name, read] of Object.entries(FILTERS)) {
    const values = [...new Set(data.rows.map(read))].sort();
    get(`by-${name}`).replaceChildren(...[["", "any"], ...values.map((value) => [value, value.replaceAll("_", " ")])]
      .map(([value, label]) => make("option", {value}, label)));
    get(`by-${name}`).addEventListener("change", filter);
  }
  let timer;
  get("find").addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(filter, 120); });
  get("filter").addEventListener("submit", (event) => event.preventDefault());
  get("before").addEventListener("click", () => { page -= 1; list(); });
  get("after").addEventListener("click", () => { page += 1; list(); });
  addEventListener("hashchange", show);
  get("detail").classList.add("empty");
  filter();
  show();
});
