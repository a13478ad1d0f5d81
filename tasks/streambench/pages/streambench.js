"use strict";
// Walk a stream: a list of steps that filters narrow, and the step that the address names with what it was
// shown, asked, answered and told. The address holds step and filters: #step=<id>&method=...&outcome=...
Benchloom.want("rows", (data) => {
  const {make, want, count, readAddress, mark, dim, showPassage, showIds, showLineage} = Benchloom;
  const PAGE = 20;
  const PATIENCE_MS = 120;
  const MOST_TRACED = 400;
  const SHORTEST_ID = 6;
  const FILTERS = ["method", "model", "seed", "outcome"];
  const get = (id) => document.getElementById(id);

  const steps = data.steps.map(([id, run, position, item, agent, outcome, bit]) => (
    {id, run: data.runs[run], place: run, position, item: data.items[item], agent, outcome: data.outcomes[outcome], right: bit === 1}));
  const byId = new Map(steps.map((step) => [step.id, step]));
  const ofRun = data.runs.map(() => []);
  for (const step of steps) ofRun[step.place][step.position] = step;
  const ofItem = new Map();
  for (const step of steps) {
    if (!ofItem.has(step.item)) ofItem.set(step.item, []);
    ofItem.get(step.item).push(step);
  }
  const haystack = new Map(data.items.map((item) => [item, `${item.text}\n${item.key}\n${item.dataset}`.toLowerCase()]));
  const READ = {
    method: (step) => [step.run.method],
    model: (step) => step.run.agents,
    seed: (step) => [String(step.run.seed)],
    outcome: (step) => [step.right ? "right" : "wrong", step.outcome],
  };
  let found = [];
  let page = 0;

  function offer() {
    const titles = new Map(data.runs.map((run) => [run.method, run.title]));
    const options = {
      method: [...titles],
      model: [...new Set(data.runs.flatMap((run) => run.agents))].map((one) => [one, one]),
      seed: [...new Set(data.runs.map((run) => String(run.seed)))].map((one) => [one, one]),
      outcome: [...new Set(["right", "wrong", ...data.outcomes])].map((one) => [one, one.replaceAll("_", " ")]),
    };
    for (const name of FILTERS) {
      get(`by-${name}`).replaceChildren(make("option", {value: ""}, "any"), ...options[name].map(([value, label]) => make("option", {value}, label)));
    }
  }

  function address(step) {
    const parts = new URLSearchParams(step ? {step} : {});
    for (const name of FILTERS) if (get(`by-${name}`).value) parts.set(name, get(`by-${name}`).value);
    if (get("find").value) parts.set("find", get("find").value);
    return `#${parts}`;
  }

  // What the address says into the form; true where that changed something.
  function takeAddress() {
    const given = readAddress();
    let changed = false;
    const put = (element, value) => {
      if (element.value !== value) {
        element.value = value;
        changed = true;
      }
    };
    for (const name of FILTERS) put(get(`by-${name}`), given[name] || "");
    put(get("find"), given.find || "");
    return changed;
  }

  const isOwn = () => location.hash.length < 2 || location.hash.includes("=");

  function filter() {
    const words = get("find").value.toLowerCase().split(/\s+/).filter(Boolean);
    const wanted = FILTERS.map((name) => [READ[name], get(`by-${name}`).value]).filter(([, value]) => value);
    found = steps.filter((step) => wanted.every(([read, value]) => read(step).includes(value))
      && words.every((word) => haystack.get(step.item).includes(word) || (word.length >= SHORTEST_ID && (step.id.startsWith(word) || step.item.id.startsWith(word)))));
    const place = found.findIndex((step) => step.id === readAddress().step);
    page = place < 0 ? 0 : Math.floor(place / PAGE);
    list();
  }

  const tell = (step) => mark(step.outcome.replaceAll("_", " "), step.right ? "good" : "bad");

  function list() {
    const pages = Math.max(1, Math.ceil(found.length / PAGE));
    page = Math.min(Math.max(page, 0), pages - 1);
    const right = found.filter((step) => step.right).length;
    get("found").textContent = `${count(found.length)} of ${count(steps.length)} steps, ${count(right)} right`;
    get("page").textContent = `page ${count(page + 1)} of ${count(pages)}`;
    get("before").disabled = page === 0;
    get("after").disabled = page >= pages - 1;
    get("list").replaceChildren(...found.slice(page * PAGE, (page + 1) * PAGE).map((step) => make("li", null,
      make("a", {href: address(step.id), "data-step": step.id}, step.item.text.slice(0, 200),
        make("small", null, mark(`step ${count(step.position)}`, "off"), tell(step), `${step.run.title} · ${step.run.models} · seed ${step.run.seed}`)))));
    markChosen();
  }

  function markChosen() {
    for (const link of get("list").querySelectorAll("a")) {
      if (link.dataset.step === readAddress().step) link.setAttribute("aria-current", "true");
      else link.removeAttribute("aria-current");
    }
  }

  // Walk to the next or previous of the steps listed; from a step that is not among them, to the first.
  function walk(by) {
    if (!found.length) return;
    const here = found.findIndex((step) => step.id === readAddress().step);
    const next = here < 0 ? 0 : here + by;
    if (next >= 0 && next < found.length) location.hash = address(found[next].id);
  }

  const linkStep = (step, ...inside) => make("a", {href: address(step.id)}, ...inside);

  function showTrace(step) {
    const run = ofRun[step.place].filter(Boolean);
    const near = run.length <= MOST_TRACED ? run : run.filter((one) => Math.abs(one.position - step.position) <= MOST_TRACED / 2);
    return make("div", {class: "trace", role: "group", "aria-label": "The steps of this run"}, ...near.map((one) => make("a", {
      href: address(one.id), class: one.outcome === "failed" ? "failed" : one.right ? "right" : "wrong", tabindex: "-1",
      title: `step ${one.position}: ${one.outcome}`, "aria-label": `step ${one.position}: ${one.outcome}`, "aria-current": one === step ? "true" : null})));
  }

  function showRetrieved(step, seen) {
    if (!seen.shown.length) return dim("Nothing: it was asked without examples.");
    return make("ol", {class: "retrieved"}, ...seen.shown.map(([item, position, distance]) => {
      const from = position ? ofRun[step.place][position] : undefined;
      const text = data.items[item]?.text;
      const near = distance ? `squared distance ${distance.toFixed(4)}` : "";
      if (!from) return make("li", null, text || `a fixed example, ${item}`, make("small", null, near));
      return make("li", {class: from.right ? "right" : "wrong"}, linkStep(from, text || from.item.text),
        make("small", null, [`of step ${count(position)}`, from.outcome.replaceAll("_", " "), near].filter(Boolean).join(" · ")));
    }));
  }

  function showAsked(key, call, open) {
    if (!call) return dim(`Call ${key} is not on this page.`);
    return make("details", {class: "call", open: open ? "" : null},
      make("summary", null, make("strong", null, call.prompt), ` · ${call.role} · ${call.model}`,
        make("span", {class: "dim"}, ` · ${count(call.prompt_tokens)} + ${count(call.completion_tokens)} tokens`)),
      make("div", {class: "inside"},
        ...call.messages.flatMap((message) => [make("h4", null, message.role), make("pre", null, message.content)]),
        make("h4", null, "reply"), make("pre", {class: "text"}, call.text),
        call.problem ? dim(`Problem: ${call.problem}`) : null,
        make("p", {class: "dim mono"}, `ledger key ${key}`)));
  }

  function showCallsOf(title, keys, calls, open) {
    return keys.length ? [make("h3", null, `${title} (${count(keys.length)})`), ...keys.map((key, place) => showAsked(key, calls[key], open && place === 0))] : [];
  }

  function showOthers(step) {
    const others = ofItem.get(step.item).filter((one) => one !== step);
    if (!others.length) return null;
    return showPassage(`The same item in other runs (${count(others.length)})`, [], make("ul", {class: "others"}, ...others.map((one) => make("li", null,
      tell(one), " ", linkStep(one, `${one.run.title} · ${one.run.models} · seed ${one.run.seed}`), make("span", {class: "dim"}, ` step ${count(one.position)}`)))));
  }

  function showSeen(step, own) {
    const seen = own.steps[step.id];
    const figures = Object.entries(seen.values).map(([name, value]) => `${name} ${value}`).join(" · ");
    return [
      make("h3", null, `Retrieved (${count(seen.shown.length)})`), showRetrieved(step, seen),
      ...(seen.left_out.length ? [showPassage(`Left out of the prompt (${count(seen.left_out.length)})`, [mark("window", "bad")], make("ul", {class: "plain"}, ...seen.left_out.map((line) => make("li", null, line))))] : []),
      ...showCallsOf("Prompt and reply", seen.calls, own.calls, true),
      make("h3", null, "Answer"),
      seen.answer === null ? dim(`None: ${seen.failed || "no reason is given"}`) : make("pre", {class: "answer"}, seen.answer),
      make("h3", null, "Feedback"),
      make("p", {class: "verdict"}, tell(step), make("span", null, seen.words || (step.right ? "right" : "wrong"))),
      ...(seen.failed && seen.answer !== null ? [dim(`No verdict: ${seen.failed}`)] : []),
      ...(figures ? [dim(figures)] : []),
      make("p", {class: "dim"}, `${seen.stored === null ? "Nothing was stored." : "The answer was stored."} ${count(seen.memory_size)} entries in the memory · ${count(seen.tokens[0])} + ${count(seen.tokens[1])} tokens`),
      showPassage("The true answer", [], make("pre", {class: "gold"}, step.item.gold)),
      ...showCallsOf("The judge's calls", seen.judge_calls, own.calls, false),
      ...showCallsOf("Unscored answers", seen.shadow_calls, own.calls, false),
    ];
  }

  function showStep(step) {
    const here = found.indexOf(step);
    const place = make("div", null, dim("Loading."));
    want(step.run.file, (own) => place.replaceChildren(...showSeen(step, own)),
      () => place.replaceChildren(dim(`${step.run.file}.js is not beside this page.`)));
    const button = (label, by, off) => {
      const made = make("button", {type: "button", disabled: off ? "" : null, "data-walk": by}, label);
      made.addEventListener("click", () => walk(by));
      return made;
    };
    return [
      make("div", {class: "walk"}, button("Previous", -1, here === 0), button("Next", 1, here === found.length - 1),
        make("span", {class: "where"}, here < 0 ? "not among the steps listed" : `${count(here + 1)} of ${count(found.length)} listed`)),
      make("h3", null, `Step ${count(step.position)} · ${step.run.title} · ${step.run.models} · seed ${step.run.seed}`),
      make("p", {class: "question"}, step.item.text),
      make("p", {class: "verdict"}, tell(step), mark(`answered by ${step.agent}`, "off"), mark(step.item.dataset, "off")),
      showTrace(step), place, ...[showOthers(step)].filter(Boolean),
      ...showIds({step: step.id, item: step.item.id, key: step.item.key, run: step.run.run}),
      ...showLineage(document.body.dataset.artifact, [["steps", step.id], ["scores", step.id]]),
    ];
  }

  function show() {
    const wanted = readAddress().step;
    if (wanted === undefined) return;
    const step = byId.get(wanted);
    const place = get("detail");
    place.classList.remove("empty");
    place.replaceChildren(...(step ? showStep(step) : [make("p", null, "There is no step ", make("code", null, wanted), " here.")]));
    place.scrollTop = 0;
    const at = found.indexOf(step);
    if (at >= 0 && Math.floor(at / PAGE) !== page) {
      page = Math.floor(at / PAGE);
      list();
    } else markChosen();
    const {top} = place.getBoundingClientRect();
    if (top < 0 || top > innerHeight * 0.6) get("browse").scrollIntoView();
  }

  // A filter keeps the step that is open; the address is replaced, so that Back leads to the step before.
  function narrow() {
    history.replaceState(null, "", address(readAddress().step));
    filter();
    show();
  }

  offer();
  for (const name of FILTERS) get(`by-${name}`).addEventListener("change", narrow);
  let timer;
  get("find").addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(narrow, PATIENCE_MS); });
  get("filter").addEventListener("submit", (event) => event.preventDefault());
  get("before").addEventListener("click", () => { page -= 1; list(); });
  get("after").addEventListener("click", () => { page += 1; list(); });
  addEventListener("hashchange", () => {
    if (!isOwn()) return;
    if (takeAddress()) filter();
    show();
    if (readAddress().step !== undefined) get("detail").focus({preventScroll: true});
  });
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, select, textarea")) return;
    const by = {j: 1, ArrowRight: 1, k: -1, ArrowLeft: -1}[event.key];
    if (by && (event.key.length === 1 || event.target.closest("#browse"))) {
      event.preventDefault();
      walk(by);
    }
    if (event.key === "Escape" && get("detail").contains(document.activeElement)) get("list").querySelector("[aria-current]")?.focus();
  });
  if (isOwn()) takeAddress();
  filter();
  show();
});
