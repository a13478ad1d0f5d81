"use strict";
// The browser of an assessment's questions: what was asked, retrieved, said, judged, and put down to whom.
Benchloom.want("questions", (data) => {
  const {make, readAddress, count, want} = Benchloom;
  const PAGE = 20;
  const get = (id) => document.getElementById(id);
  const byId = new Map(data.questions.map((row) => [row.id, row]));
  const groups = new Map(data.groups.map((group) => [group.id, {...group, rows: []}]));
  for (const row of data.questions) groups.get(row.group).rows.push(row);
  const documents = new Map(data.documents.map((each) => [each.id, each]));
  const haystack = new Map(data.questions.map((row) =>
    [row.id, `${row.question}\n${groups.get(row.group).answer}\n${row.response || ""}\n${row.id}\n${row.group}`.toLowerCase()]));
  let found = [];
  let page = 0;

  function offer(select, options) {
    select.replaceChildren(...options.map(([value, label]) => make("option", {value}, label)));
  }

  const mode = () => get("by-mode").value;
  const module = (row) => row.modes[mode()]?.modules[get("by-rule").value] || "";
  const outcome = (row) => row.modes[mode()]?.outcome || "unscored";

  function filter() {
    const words = get("find").value.toLowerCase().split(/\s+/).filter(Boolean);
    const wanted = Object.fromEntries(["tag", "criterion", "judgement", "module"].map((name) => [name, get(`by-${name}`).value]));
    found = data.questions.filter((row) =>
      (!wanted.tag || row.modes[mode()]?.tag === wanted.tag)
      && (!wanted.criterion || row.criterion === wanted.criterion)
      && (!wanted.judgement || outcome(row) === wanted.judgement)
      && (!wanted.module || module(row) === wanted.module)
      && words.every((word) => haystack.get(row.id).includes(word)));
    page = 0;
    list();
  }

  function mark(text, kind) {
    return make("span", {class: `tag ${kind}`}, text);
  }

  function markOutcome(row) {
    const said = outcome(row);
    return mark(said, said === "Correct" ? "good" : said === "Incorrect" ? "bad" : "off");
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
      make("a", {href: `#question=${encodeURIComponent(row.id)}`, "aria-current": row.id === chosen ? "true" : null},
        row.question,
        make("small", null, markOutcome(row), mark(row.modes[mode()]?.tag || "no tag", "off"), mark(row.criterion, "off"),
          module(row) ? mark(module(row), "bad") : null)))));
  }

  function showDocument(document, text, note, isTrue) {
    return make("details", {class: "passage"},
      make("summary", null, make("strong", null, document.title || document.id), " ",
        isTrue ? mark("true document", "good") : null, make("span", {class: "dim"}, ` ${note}`)),
      make("div", {class: "inside"}, text));
  }

  function showRetrieved(row) {
    if (row.passages === null) return [make("p", {class: "dim"}, "The system does not show what it retrieved.")];
    if (!row.passages.length) return [make("p", {class: "dim"}, "Nothing.")];
    return row.passages.map((each) => showDocument(each, each.text, `score ${each.score}`, (row.true || []).includes(each.document)));
  }

  function showTrue(row) {
    if (row.true === null) return [make("p", {class: "dim"}, "Not known.")];
    if (!row.true.length) return [make("p", {class: "dim"}, "None.")];
    return row.true.map((id) => {
      const document = documents.get(id) || {id, title: "", text: "This document is not in the corpus."};
      const note = data.withheld.includes(id) ? "withheld on purpose" : document.title ? "" : "not written";
      return showDocument(document, document.text, note, false);
    });
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
    const place = make("div", null, make("p", {class: "dim"}, keys.length ? "Loading." : "No model was asked."));
    if (keys.length) {
      want("calls", (calls) => place.replaceChildren(...keys.map((key) => showCall(key, calls[key]))),
        () => place.replaceChildren(make("p", {class: "dim"}, "calls.js is not beside this page.")));
    }
    return place;
  }

  function showModes(row) {
    const body = Object.entries(row.modes).flatMap(([name, told]) => data.rules.map((rule) => make("tr", null,
      make("td", null, name), make("td", null, told.outcome), make("td", null, told.tag), make("td", {class: "mono"}, rule),
      make("td", null, told.sufficient[rule] === null ? "not told" : told.sufficient[rule] ? "enough" : "not enough"),
      make("td", null, told.outcome === "Correct" ? "" : told.modules[rule] || "not told"))));
    if (!body.length) return make("p", {class: "dim"}, "An unscored row tags no group and is put down to nobody.");
    return make("div", {class: "scroll"}, make("table", null,
      make("thead", null, make("tr", null, ...["mode", "outcome", "group", "context rule", "context", "put down to"].map((name) => make("th", null, name)))),
      make("tbody", null, ...body)));
  }

  function showBaseline(each) {
    return make("details", {class: "passage"},
      make("summary", null, make("strong", null, each.method.replaceAll("_", " ")), " ", mark(each.verdict || "unscored", each.verdict ? "" : "off"),
        make("span", {class: "dim"}, each.problem ? ` ${each.problem}` : ` share ${each.share}`)),
      make("ul", {class: "plain inside"}, ...each.parts.map((part) => make("li", null, `${part.holds}: ${part.text}`))));
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
      const group = groups.get(row.group);
      const others = group.rows.filter((each) => each !== row);
      detail.replaceChildren(
        make("h3", null, "Question ", mark(row.criterion, ""), " ", row.sets.map((name) => name).join(", ")),
        make("p", {class: "question"}, row.question),
        make("h3", null, "True answer"), make("p", {class: "reply"}, group.answer),
        make("h3", null, "Response"), make("p", {class: "reply response"}, row.response === null ? `No answer: ${row.problem}` : row.response),
        make("h3", null, "Judgement"),
        make("p", {class: "verdicts"}, mark(row.judgement || "unscored", row.judgement === "Correct" ? "good" : row.judgement ? "bad" : "off"),
          make("span", {class: "dim"}, row.verdicts.length > 1 ? `verdicts: ${row.verdicts.join(", ")}` : row.judge_problem)),
        make("h3", null, `Retrieved (${row.passages ? count(row.passages.length) : "not shown"})`), ...showRetrieved(row),
        make("h3", null, "True documents"), ...showTrue(row),
        make("h3", null, "Put down to"), showModes(row),
        make("h3", null, `The same question in other words (${count(others.length)})`),
        others.length ? make("ul", {class: "siblings"}, ...others.map((each) => make("li", null,
          make("a", {href: `#question=${encodeURIComponent(each.id)}`}, each.question), " ", markOutcome(each), " ", mark(each.criterion, "off"))))
          : make("p", {class: "dim"}, "None."),
        ...(row.baselines.length ? [make("h3", null, "Reference-free methods"), ...row.baselines.map(showBaseline)] : []),
        make("h3", null, "Calls"), showCalls(row.calls),
        make("h3", null, "Ids"),
        make("ul", {class: "plain dim mono"}, ...[["question", row.id], ["group", row.group], ["answer", row.answer]]
          .map(([name, id]) => make("li", null, `${name} ${id}`))));
    }
    detail.scrollTop = 0;
    list();
    if (detail.getBoundingClientRect().top < 0 || detail.getBoundingClientRect().top > innerHeight * 0.6) get("browse").scrollIntoView();
  }

  const any = (names) => [["", "any"], ...names.map((name) => [name, name])];
  offer(get("by-mode"), data.modes.map((name) => [name, name]));
  offer(get("by-rule"), data.rules.map((name) => [name, name]));
  offer(get("by-tag"), any(["gap", "non-robust", "robust"]));
  offer(get("by-criterion"), any([...new Set(data.questions.map((row) => row.criterion))].sort()));
  offer(get("by-judgement"), any(["Correct", "Incorrect", "unscored"]));
  offer(get("by-module"), any(data.modules));
  get("by-mode").value = data.mode;
  get("by-rule").value = data.rule;
  let timer;
  get("find").addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(filter, 120); });
  for (const name of ["mode", "tag", "criterion", "judgement", "module", "rule"]) get(`by-${name}`).addEventListener("change", filter);
  get("filter").addEventListener("submit", (event) => event.preventDefault());
  get("before").addEventListener("click", () => { page -= 1; list(); });
  get("after").addEventListener("click", () => { page += 1; list(); });
  addEventListener("hashchange", show);
  get("detail").classList.add("empty");
  filter();
  show();
});
