"use strict";
// A list of rows to search, filter and page through, beside the row that the address names; and what
// the detail of any row shows: passages, model calls, ids. Texts are never markup: see core.js.
(() => {
  const {make, readAddress, readState, writeState, download, count, want, lineageOf, showCommand} = Benchloom;
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
  // traced: of a row, the rows of artifacts that it is shown from, as [artifact, id], for its lineage.
  // A link with data-narrow="name=value&..." sets these selects and clears the others.
  // Search, filters, order and page are in the address's query: a link shows what is seen.
  function browse({rows, noun, nouns, id, title, marks, texts, ids, selects, detail, traced}) {
    let byId;  // filled when a row is first opened: long lists are there before it
    const haystack = new Map();  // filled by the first search
    const chosen = () => readAddress()[noun];
    const own = document.body.dataset.artifact || "";
    const folder = own.slice(0, own.lastIndexOf("/") + 1);
    const stem = own.slice(folder.length).replace(/\.parquet$/, "");
    const readable = Object.entries(selects).filter(([, {read}]) => read);
    let found = rows;
    let page = 0;

    const search = (row) => {
      if (!haystack.has(row)) haystack.set(row, texts(row).join("\n").toLowerCase());
      return haystack.get(row);
    };
    const fits = (word, row) => search(row).includes(word)
      || (word.length >= SHORTEST_ID && ids(row).some((each) => each.startsWith(word)));
    const normal = (name) => selects[name].value ?? get(`by-${name}`).options[0]?.value ?? "";

    function filter() {
      const words = get("find").value.toLowerCase().split(/\s+/).filter(Boolean);
      const wanted = readable.filter(([name]) => get(`by-${name}`).value).map(([name, {read}]) => [get(`by-${name}`).value, read]);
      found = words.length || wanted.length
        ? rows.filter((row) => wanted.every(([value, read]) => [read(row)].flat().includes(value)) && words.every((word) => fits(word, row)))
        : rows;
      const order = get("by-order").value;
      if (order) {
        const key = order === "up" || order === "down" ? title : selects[order.slice(3)].read;
        const keys = new Map(found.map((row) => [row, [key(row)].flat().join(" ")]));
        const compare = new Intl.Collator("en", {numeric: true}).compare;
        found = [...found].sort((one, other) => compare(keys.get(one), keys.get(other)) * (order === "down" ? -1 : 1));
      }
      page = 0;
      list();
    }

    // What the form says into the address.
    function keep() {
      const state = {find: get("find").value || null, order: get("by-order").value || null, page: page ? String(page + 1) : null};
      for (const name of Object.keys(selects)) state[name] = get(`by-${name}`).value === normal(name) ? null : get(`by-${name}`).value;
      writeState(state);
    }

    // What the address says into the form.
    function restore() {
      const state = readState();
      const put = (select, value) => { select.value = [...select.options].some((option) => option.value === value) ? value : select.value; };
      get("find").value = state.get("find") || "";
      put(get("by-order"), state.get("order") || "");
      for (const name of Object.keys(selects)) put(get(`by-${name}`), state.has(name) ? state.get(name) : normal(name));
      filter();
      page = Math.max(0, parseInt(state.get("page") || "1", 10) - 1 || 0);
      list();
    }

    function change() {
      filter();
      keep();
    }

    function turn(by) {
      page += by;
      list();
      keep();
    }

    function narrow(wanted) {
      get("find").value = "";
      for (const name of Object.keys(selects)) get(`by-${name}`).value = selects[name].value || "";
      for (const [name, value] of new URLSearchParams(wanted)) get(`by-${name}`).value = value;
      change();
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
      byId ||= new Map(rows.map((row) => [id(row), row]));
      const row = byId.get(wanted);
      const place = get("detail");
      place.classList.remove("empty");
      place.replaceChildren(...(row ? [...detail(row), ...showLineage(own, traced ? traced(row) : [[stem, id(row)]])]
        : [make("p", null, `There is no ${noun} `, make("code", null, wanted), " here.")]));
      place.scrollTop = 0;
      markChosen();
      const {top} = place.getBoundingClientRect();
      if (top < 0 || top > innerHeight * 0.6) get("browse").scrollIntoView();
    }

    // The rows found, as a file: how they are called, and what they are filtered by.
    function save() {
      download(nouns, [[`${noun} id`, noun, ...readable.map(([name]) => name), "more"],
        ...found.map((row) => [id(row), title(row), ...readable.map(([, {read}]) => [read(row)].flat().join("; ")), texts(row).filter((text) => text !== title(row)).join(" | ")])]);
    }

    for (const [name, {read, options, value}] of Object.entries(selects)) {
      const offered = options || [["", "any"], ...[...new Set(rows.map(read))].sort().map((each) => [each, each.replaceAll("_", " ")])];
      get(`by-${name}`).replaceChildren(...offered.map(([each, label]) => make("option", {value: each}, label)));
      if (value !== undefined) get(`by-${name}`).value = value;
      get(`by-${name}`).addEventListener("change", change);
    }
    const orders = [["", "as listed"], ["up", "A to Z"], ["down", "Z to A"], ...readable.map(([name]) => [`by ${name}`, `by ${name}`])];
    get("by-order").replaceChildren(...orders.map(([value, label]) => make("option", {value}, label)));
    get("by-order").addEventListener("change", change);
    for (const link of document.querySelectorAll("[data-narrow]")) link.addEventListener("click", () => narrow(link.dataset.narrow));
    let timer;
    get("find").addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(change, PATIENCE_MS); });
    get("filter").addEventListener("submit", (event) => event.preventDefault());
    get("before").addEventListener("click", () => turn(-1));
    get("after").addEventListener("click", () => turn(1));
    get("save").addEventListener("click", save);
    addEventListener("popstate", restore);
    addEventListener("hashchange", () => {
      show();
      if (chosen() !== undefined) get("detail").focus({preventScroll: true});
    });
    get("detail").addEventListener("keydown", (event) => {
      if (event.key === "Escape") get("list").querySelector("[aria-current]")?.focus();
    });
    restore();
    show();
    return {narrow};
  }

  // The commands that walk back from the rows of artifacts: `own` is the page's, others lie beside it.
  function showLineage(own, traced) {
    if (!own) return [];
    const folder = own.slice(0, own.lastIndexOf("/") + 1);
    const commands = traced.filter(([, row]) => row).map(([artifact, row]) => showCommand(lineageOf(`${folder}${artifact}.parquet`, row)));
    return commands.length ? [make("h3", null, "Where it comes from"), ...commands] : [];
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

  Object.assign(Benchloom, {browse, mark, dim, showPassage, showCalls, showIds, showLineage});
})();
