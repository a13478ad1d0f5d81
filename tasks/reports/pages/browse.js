"use strict";
// A list of rows to search, filter and page through, beside the row that the address names; and what
// the detail of any row shows: passages, model calls, ids. Texts are never markup: see core.js.
(() => {
  const {make, readAddress, count, want} = Benchloom;
  const PAGE = 20;
  const SHORTEST_ID = 6;  // Ids count by their beginning only: somewhere inside, any short number would fit.
  const PATIENCE_MS = 120;
  const get = (id) => document.getElementById(id);

  const mark = (text, kind) => make("span", {class: `tag ${kind || ""}`}, text);
  const dim = (...children) => make("p", {class: "dim"}, ...children);

  // rows: what is browsed; noun: what one of them is called, also in the address (#noun=id); nouns: many.
  // id, title, marks, texts, detail: of a row, its id, its line and what stands below it, what is searched,
  // and its nodes; ids: what else it is found by. selects: name -> {read, options, value}: a row is kept
  // where read(row) is the value chosen, or holds it; without read a select only changes how rows are told.
  // A link with data-narrow="name=value&..." sets these selects and clears the others.
  function browse({rows, noun, nouns, id, title, marks, texts, ids, selects, detail}) {
    const byId = new Map(rows.map((row) => [id(row), row]));
    const haystack = new Map(rows.map((row) => [row, texts(row).join("\n").toLowerCase()]));
    const chosen = () => readAddress()[noun];
    let found = [];
    let page = 0;

    const fits = (word, row) => haystack.get(row).includes(word)
      || (word.length >= SHORTEST_ID && ids(row).some((each) => each.startsWith(word)));

    function filter() {
      const words = get("find").value.toLowerCase().split(/\s+/).filter(Boolean);
      const wanted = Object.entries(selects).filter(([name, {read}]) => read && get(`by-${name}`).value)
        .map(([name, {read}]) => [get(`by-${name}`).value, read]);
      found = rows.filter((row) => wanted.every(([value, read]) => [read(row)].flat().includes(value)) && words.every((word) => fits(word, row)));
      page = 0;
      list();
    }

    function narrow(wanted) {
      get("find").value = "";
      for (const [name, {value}] of Object.entries(selects)) get(`by-${name}`).value = value || "";
      for (const [name, value] of new URLSearchParams(wanted)) get(`by-${name}`).value = value;
      filter();
    }

    function list() {
      const pages = Math.max(1, Math.ceil(found.length / PAGE));
      page = Math.min(Math.max(page, 0), pages - 1);
      get("found").textContent = `${count(found.length)} of ${count(rows.length)} ${nouns}`;
      get("page").textContent = `page ${count(page + 1)} of ${count(pages)}`;
      get("before").disabled = page === 0;
      get("after").disabled = page >= pages - 1;
      get("list").replaceChildren(...found.slice(page * PAGE, (page + 1) * PAGE).map((row) => make("li", null,
        make("a", {href: `#${noun}=${encodeURIComponent(id(row))}`}, title(row), make("small", null, ...marks(row))))));
      markChosen();
    }

    function markChosen() {
      for (const link of get("list").querySelectorAll("a")) {
        if (link.hash === `#${noun}=${encodeURIComponent(chosen())}`) link.setAttribute("aria-current", "true");
        else link.removeAttribute("aria-current");
      }
    }

    function show() {
      const wanted = chosen();
      if (wanted === undefined) return;
      const row = byId.get(wanted);
      const place = get("detail");
      place.classList.remove("empty");
      place.replaceChildren(...(row ? detail(row) : [make("p", null, `There is no ${noun} `, make("code", null, wanted), " here.")]));
      place.scrollTop = 0;
      markChosen();
      const {top} = place.getBoundingClientRect();
      if (top < 0 || top > innerHeight * 0.6) get("browse").scrollIntoView();
    }

    for (const [name, {read, options, value}] of Object.entries(selects)) {
      const offered = options || [["", "any"], ...[...new Set(rows.map(read))].sort().map((each) => [each, each.replaceAll("_", " ")])];
      get(`by-${name}`).replaceChildren(...offered.map(([each, label]) => make("option", {value: each}, label)));
      if (value !== undefined) get(`by-${name}`).value = value;
      get(`by-${name}`).addEventListener("change", filter);
    }
    for (const link of document.querySelectorAll("[data-narrow]")) link.addEventListener("click", () => narrow(link.dataset.narrow));
    let timer;
    get("find").addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(filter, PATIENCE_MS); });
    get("filter").addEventListener("submit", (event) => event.preventDefault());
    get("before").addEventListener("click", () => { page -= 1; list(); });
    get("after").addEventListener("click", () => { page += 1; list(); });
    addEventListener("hashchange", () => {
      show();
      if (chosen() !== undefined) get("detail").focus({preventScroll: true});
    });
    get("detail").addEventListener("keydown", (event) => {
      if (event.key === "Escape") get("list").querySelector("[aria-current]")?.focus();
    });
    filter();
    show();
    return {narrow};
  }

  function showPassage(title, notes, ...inside) {
    return make("details", {class: "passage"},
      make("summary", null, make("strong", null, title), " ", ...notes), make("div", {class: "inside"}, ...inside));
  }

  function showCall(key, call) {
    if (!call) return dim(`Call ${key} is not on this page.`);
    const again = call.attempt ? ` · attempt ${call.attempt + 1}` : "";
    return make("details", {class: "call"},
      make("summary", null, make("strong", null, call.prompt), ` · ${call.role} · ${call.model}`,
        make("span", {class: "dim"}, ` · ${count(call.prompt_tokens)} + ${count(call.completion_tokens)} tokens${again}${call.parsed ? "" : " · not parsed"}`)),
      make("div", {class: "inside"},
        ...call.messages.flatMap((message) => [make("h4", null, message.role), make("pre", null, message.content)]),
        make("h4", null, "reply"), make("pre", {class: "text"}, call.text),
        call.problem ? dim(`Problem: ${call.problem}`) : null,
        make("ul", {class: "plain dim"},
          make("li", null, `stage ${call.stage} · prompt ${call.prompt} `, make("span", {class: "mono"}, call.prompt_digest)),
          make("li", null, `decoding ${call.decoding}${call.epoch ? ` · epoch ${call.epoch}` : ""}`),
          make("li", null, "ledger key ", make("span", {class: "mono"}, key)))));
  }

  function showCalls(title, keys) {
    const place = make("div", null, dim(keys.length ? "Loading." : "No model was asked."));
    if (keys.length) {
      want("calls", (calls) => place.replaceChildren(...keys.map((key) => showCall(key, calls[key]))),
        () => place.replaceChildren(dim("calls.js is not beside this page.")));
    }
    return [make("h3", null, `${title} (${count(keys.length)})`), place];
  }

  function showIds(named) {
    return [make("h3", null, "Ids"), make("ul", {class: "plain dim mono"}, ...Object.entries(named).map(([name, id]) => make("li", null, `${name} ${id}`)))];
  }

  Object.assign(Benchloom, {browse, mark, dim, showPassage, showCalls, showIds});
})();
