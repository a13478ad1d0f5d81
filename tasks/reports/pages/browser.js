"use strict";
// The browser of questions. Rows come as lists that point at each other by number:
// templates [id, sql, calls], texts [id, template, criterion, text, calls],
// groups [id, template, sql, fillings, answer, rows], questions [id, group, text, question, balanced].
Benchloom.want("questions", (data) => {
  const {make, paint, readAddress, count, want} = Benchloom;
  const PAGE = 20;
  const [ID, GROUP, TEXT, WORDS, BALANCED] = [0, 1, 2, 3, 4];
  const get = (id) => document.getElementById(id);
  const byId = new Map(data.questions.map((row) => [row[ID], row]));
  const siblings = new Map();
  for (const row of data.questions) {
    if (!siblings.has(row[GROUP])) siblings.set(row[GROUP], []);
    siblings.get(row[GROUP]).push(row);
  }
  const haystack = data.questions.map((row) => {
    const group = data.groups[row[GROUP]];
    return `${row[WORDS]}\n${group[4]}\n${group[2]}`.toLowerCase();
  });
  const criteria = [...new Set(data.texts.map((text) => text[2]))].sort();
  let found = [];
  let page = 0;

  function offer(select, options) {
    select.replaceChildren(...options.map(([value, label]) => make("option", {value}, label)));
  }

  function shorten(text, length) {
    return text.length > length ? `${text.slice(0, length - 1)}…` : text;
  }

  // Ids count by their beginning only: somewhere inside, any short number would fit.
  function fits(word, row, place) {
    return haystack[place].includes(word)
      || (word.length >= 6 && [row[ID], data.groups[row[GROUP]][0]].some((id) => id.startsWith(word)));
  }

  function filter() {
    const words = get("find").value.toLowerCase().split(/\s+/).filter(Boolean);
    const [set, criterion, template] = [get("by-set").value, get("by-criterion").value, get("by-template").value];
    found = [];
    data.questions.forEach((row, place) => {
      const text = data.texts[row[TEXT]];
      if (set === "balanced" && !row[BALANCED]) return;
      if (criterion && text[2] !== criterion) return;
      if (template !== "" && text[1] !== Number(template)) return;
      if (words.every((word) => fits(word, row, place))) found.push(row);
    });
    page = 0;
    list();
  }

  function list() {
    const pages = Math.max(1, Math.ceil(found.length / PAGE));
    page = Math.min(Math.max(page, 0), pages - 1);
    get("found").textContent = `${count(found.length)} of ${count(data.questions.length)} questions`;
    get("page").textContent = `page ${count(page + 1)} of ${count(pages)}`;
    get("before").disabled = page === 0;
    get("after").disabled = page >= pages - 1;
    const chosen = readAddress().question;
    get("list").replaceChildren(...found.slice(page * PAGE, (page + 1) * PAGE).map((row) => make("li", null,
      make("a", {href: `#question=${encodeURIComponent(row[ID])}`, "aria-current": row[ID] === chosen ? "true" : null},
        row[WORDS],
        make("small", null, make("span", {class: "tag"}, data.texts[row[TEXT]][2]),
          row[BALANCED] ? null : make("span", {class: "tag off"}, "not in the balanced set"),
          make("span", {class: "answer"}, data.groups[row[GROUP]][4]))))));
  }

  function showRows(text, columns) {
    let rows;
    try { rows = JSON.parse(text); } catch { rows = null; }
    if (!Array.isArray(rows) || !rows.every(Array.isArray)) return make("pre", null, text);
    const head = rows[0]?.length === columns?.length ? make("thead", null, make("tr", null, ...columns.map((name) => make("th", null, name)))) : null;
    return make("div", {class: "scroll"}, make("table", null, head, make("tbody", null,
      ...rows.slice(0, 50).map((row) => make("tr", null, ...row.map((cell) => make("td", null, cell === null ? "NULL" : String(cell))))))));
  }

  function showCall(key, call) {
    if (!call) return make("p", {class: "dim"}, `Call ${key} is not on this page.`);
    const verdict = call.parsed ? "" : " · not parsed";
    return make("details", {class: "call"},
      make("summary", null, make("strong", null, call.stage), ` · ${call.role} · ${call.model}`,
        make("span", {class: "dim"}, ` · ${count(call.prompt_tokens)} + ${count(call.completion_tokens)} tokens${call.attempt ? ` · attempt ${call.attempt + 1}` : ""}${verdict}`)),
      make("div", {class: "inside"},
        ...call.messages.flatMap((message) => [make("h4", null, message.role), make("pre", null, message.content)]),
        make("h4", null, "reply"), make("pre", {class: "text"}, call.text),
        call.problem ? make("p", {class: "dim"}, `Problem: ${call.problem}`) : null,
        make("ul", {class: "plain dim"},
          make("li", null, `prompt ${call.prompt} `, make("span", {class: "mono"}, call.prompt_digest)),
          make("li", null, `decoding ${call.decoding}`),
          make("li", null, "ledger key ", make("span", {class: "mono"}, key)))));
  }

  function showCalls(title, keys) {
    const place = make("div", null, make("p", {class: "dim"}, keys.length ? "Loading." : "No model was asked."));
    if (keys.length) {
      want("calls", (calls) => place.replaceChildren(...keys.map((key) => showCall(key, calls[key]))),
        () => place.replaceChildren(make("p", {class: "dim"}, "calls.js is not beside this page.")));
    }
    return [make("h3", null, title), place];
  }

  function show() {
    const wanted = readAddress().question;
    if (wanted === undefined) return;
    const row = byId.get(wanted);
    const detail = get("detail");
    detail.classList.remove("empty");
    if (!row) {
      detail.replaceChildren(make("p", null, "There is no question ", make("code", null, wanted), " here."));
    } else {
      const group = data.groups[row[GROUP]];
      const text = data.texts[row[TEXT]];
      const template = data.templates[text[1]];
      const others = siblings.get(row[GROUP]).filter((each) => each !== row);
      detail.replaceChildren(
        make("h3", null, "Question ", make("span", {class: "tag"}, text[2])),
        make("p", {class: "question"}, row[WORDS]),
        make("h3", null, "Answer"), make("p", {class: "reply"}, group[4]),
        make("h3", null, "Query"), make("pre", {class: "sql"}, ...paint(group[2], true, false)),
        make("h3", null, "Its result"), showRows(group[5], template[3]),
        make("h3", null, `The same question in other words (${count(others.length)})`),
        others.length ? make("ul", {class: "siblings"}, ...others.slice(0, 20).map((each) => make("li", null,
          make("a", {href: `#question=${encodeURIComponent(each[ID])}`}, each[WORDS]), " ", make("span", {class: "tag"}, data.texts[each[TEXT]][2]))))
          : make("p", {class: "dim"}, "None."),
        make("h3", null, "Made from"),
        make("pre", null, ...paint(text[3], false)), make("pre", {class: "sql"}, ...paint(template[1], true)),
        ...showCalls("Calls behind the wording", text[4]),
        ...showCalls("Calls behind the SQL template", template[2]),
        make("h3", null, "Ids"),
        make("ul", {class: "plain dim mono"}, ...[["question", row[ID]], ["group", group[0]], ["text", text[0]], ["SQL template", template[0]]]
          .map(([name, id]) => make("li", null, `${name} ${id}`))));
    }
    detail.scrollTop = 0;
    list();
    if (detail.getBoundingClientRect().top < 0 || detail.getBoundingClientRect().top > innerHeight * 0.6) get("browse").scrollIntoView();
  }

  function showTemplates() {
    const tally = data.templates.map(() => ({groups: 0, questions: 0, texts: new Map()}));
    for (const group of data.groups) tally[group[1]].groups += 1;
    for (const row of data.questions) if (row[BALANCED]) tally[data.texts[row[TEXT]][1]].questions += 1;
    for (const text of data.texts) tally[text[1]].texts.set(text[2], (tally[text[1]].texts.get(text[2]) || 0) + 1);
    const body = data.templates.map((template, place) => {
      const button = make("button", {type: "button"}, count(tally[place].questions));
      button.setAttribute("aria-label", `Show the ${tally[place].questions} questions of this template`);
      button.addEventListener("click", () => {
        get("by-template").value = String(place);
        filter();
        get("browse").scrollIntoView();
      });
      return make("tr", null, make("td", null, make("code", {class: "sql"}, ...paint(template[1], true))),
        ...criteria.map((name) => make("td", {class: "n"}, count(tally[place].texts.get(name) || 0))),
        make("td", {class: "n"}, count(tally[place].groups)), make("td", {class: "n"}, button));
    });
    get("template-list").replaceChildren(make("div", {class: "scroll"}, make("table", null,
      make("thead", null, make("tr", null, make("th", null, "SQL with placeholders"), ...criteria.map((name) => make("th", {class: "n"}, `${name} texts`)),
        make("th", {class: "n"}, "groups"), make("th", {class: "n"}, "questions, balanced"))),
      make("tbody", null, ...body))));
  }

  offer(get("by-set"), [["balanced", "balanced"], ["", "all"]]);
  offer(get("by-criterion"), [["", "any"], ...criteria.map((name) => [name, name])]);
  offer(get("by-template"), [["", "any"], ...data.templates.map((template, place) => [String(place), shorten(template[1], 90)])]);
  let timer;
  get("find").addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(filter, 120); });
  for (const id of ["by-set", "by-criterion", "by-template"]) get(id).addEventListener("change", filter);
  get("filter").addEventListener("submit", (event) => event.preventDefault());
  get("before").addEventListener("click", () => { page -= 1; list(); });
  get("after").addEventListener("click", () => { page += 1; list(); });
  addEventListener("hashchange", show);
  get("detail").classList.add("empty");
  showTemplates();
  filter();
  show();
});
