"use strict";
// The one item viewer: a list of rows to search, filter, page through and walk, beside the row that the address
// names. A row's detail is made of blocks (tasks/reports/blocks.py). Texts are never markup: see core.js.
(() => {
  const {make, want, paint, readAddress, readState, writeState, download, count, lineageOf, showCommand} = Benchloom;
  const PAGE = 20;
  const SHORTEST_ID = 6;  // Ids count by their beginning only: somewhere inside, any short number would fit.
  const PATIENCE_MS = 120;
  const [ID, TITLE, VALUES, TAGS, BLOCKS, TRACED, FIND, ALSO, VARY] = [0, 1, 2, 3, 4, 5, 6, 7, 8];
  const HIDDEN = new Set(["head", "title", "rows", "calls", "ids", "stored"]);
  const ADDRESS = /^#\w+=/;
  const get = (id) => document.getElementById(id);
  const components = {};

  const mark = (text, kind) => make("span", {class: `tag ${kind || ""}`}, text);
  const dim = (...children) => make("p", {class: "dim"}, ...children);
  const markAll = (tags) => tags.flatMap(([text, kind]) => [" ", mark(text, kind)]);

  // The commands that walk back from the rows of artifacts: `own` is the page's, others lie beside it.
  function showLineage(own, traced) {
    if (!own) return [];
    const folder = own.slice(0, own.lastIndexOf("/") + 1);
    const commands = traced.filter(([, row]) => row).map(([artifact, row]) => showCommand(lineageOf(`${folder}${artifact}.parquet`, row)));
    return commands.length ? [make("h3", null, "Where it comes from"), ...commands] : [];
  }

  function showCall(key, call, open) {
    if (!call) return dim(`This page does not contain the call ${key}.`);
    const again = call.attempt ? ` · attempt ${call.attempt + 1}` : "";
    return make("details", {class: "call", open: open ? "" : null},
      make("summary", null, make("strong", null, call.prompt), ` · ${call.role} · ${call.model}`,
        make("span", {class: "dim"}, ` · ${count(call.prompt_tokens)} + ${count(call.completion_tokens)} tokens${again}${call.parsed === false ? " · not parsed" : ""}`)),
      make("div", {class: "inside"},
        ...call.messages.flatMap((message) => [make("h4", null, message.role), make("pre", null, message.content)]),
        make("h4", null, "reply"), make("pre", {class: "text"}, call.text),
        call.finish_reason === "length" ? dim("The reply was cut off at the token limit.") : null,
        call.problem ? dim(`Problem: ${call.problem}`) : null,
        call.reasoning ? make("details", null, make("summary", null, "reasoning, removed before the answer was parsed"), make("pre", {class: "text"}, call.reasoning)) : null,
        make("ul", {class: "plain dim"},
          call.stage ? make("li", null, `stage ${call.stage} · prompt ${call.prompt} `, make("span", {class: "mono"}, call.prompt_digest)) : null,
          call.decoding ? make("li", null, `decoding ${call.decoding}${call.epoch ? ` · epoch ${call.epoch}` : ""}`) : null,
          call.answered_by ? make("li", null, `answered by ${call.answered_by}`) : null,
          make("li", null, "ledger key ", make("span", {class: "mono"}, key)))));
  }

  // A text with every place where one of the words stands, in any case, marked. whole: not within another word.
  function markWords(text, words, whole) {
    const escaped = words.map((word) => word.replace(/[.*+?^${}()|[\]\\/]/g, "\\$&")).sort((one, other) => other.length - one.length);
    if (!escaped.length) return [text];
    const [before, after] = whole ? ["(?<![\\p{L}\\p{N}])", "(?![\\p{L}\\p{N}])"] : ["", ""];
    return text.split(new RegExp(`${before}(${escaped.join("|")})${after}`, "iu")).map((part, place) => (place % 2 ? make("mark", null, part) : part));
  }

  function openFold(anchor) {
    const fold = get(anchor);
    if (!fold) return;
    fold.open = true;
    fold.scrollIntoView({block: "center"});
    fold.querySelector("summary").focus();
  }

  function showTable(columns, rows, total, beside) {
    if (!total) return [dim("No rows.")];
    const cells = (row) => row.map((cell) => make("td", {class: typeof cell === "number" ? "n" : null},
      cell === null ? make("span", {class: "dim"}, "NULL") : String(cell)));
    return [
      make("div", {class: "scroll", tabindex: "0"}, make("table", {class: "result"},
        make("thead", null, make("tr", null, ...columns.map((name) => make("th", null, name)))),
        make("tbody", null, ...rows.map((row) => make("tr", null, ...cells(row)))))),
      ...(rows.length < total ? [dim(`${count(rows.length)} of ${count(total)} rows shown${beside ? `, ${beside}` : ""}.`)] : []),
    ];
  }

  function showItem(item) {
    if (typeof item === "string") return make("li", null, item);
    const [text, tag, tone, address] = item;
    return make("li", null, address ? make("a", {href: address}, text) : text, tag ? " " : null, tag ? mark(tag, tone) : null);
  }

  // A place that is filled when a data file beside the page has been loaded.
  function load(file, fill) {
    const place = make("div", null, dim("Loading."));
    want(file, (data) => place.replaceChildren(...fill(data)), () => place.replaceChildren(dim(`The file ${file}.js is missing from the folder of this page.`)));
    return place;
  }

  const KINDS = {
    head: (text, tags) => [make("h3", null, text, ...markAll(tags))],
    title: (text, tags) => [make("h3", null, text, ...markAll(tags)), make("p", {class: "question"}, viewed.find(viewed.chosen())[TITLE])],
    rows: (ids, style) => {
      const others = ids.filter((id) => id !== viewed.chosen()).map(viewed.find);
      return others.length ? [make("ul", {class: style}, ...others.map(viewed.link))] : [dim("None.")];
    },
    text: (text, style, lang) => [make("p", {class: style.startsWith("question") ? style : `said ${style}`, lang: lang || null}, text)],
    code: (text, sql, slots) => [make("pre", {class: sql ? "sql" : null}, ...(sql || slots ? paint(text, sql, slots) : [text]))],
    tags: (tags, beside) => [make("p", {class: "verdicts"}, ...markAll(tags), beside ? make("span", {class: "dim"}, ` ${beside}`) : null)],
    table: showTable,
    list: (values, style) => [make("ul", {class: style}, ...values.map(showItem))],
    facts: (values) => [make("dl", {class: "facts"}, ...values.map(([name, text]) => make("div", null, make("dt", null, name), make("dd", null, text))))],
    fold: (summary, tags, beside, style, open, anchor, inside) => [make("details", {class: style, open: open ? "" : null, id: anchor || null},
      make("summary", null, make("strong", null, summary), ...markAll(tags), beside ? make("span", {class: "dim"}, ` ${beside}`) : null),
      make("div", {class: "inside"}, ...draw(inside)))],
    group: (style, who, inside) => [make("div", {class: style}, who ? make("span", {class: "who"}, who) : null, ...draw(inside))],
    links: (parts, style) => [make("p", {class: `said ${style}`}, ...parts.flatMap(([text, after]) => [text, " ", ...after.flatMap(([label, anchor]) => {
      const button = make("button", {type: "button", class: "bears"}, label);
      button.addEventListener("click", () => openFold(anchor));
      return [button, " "];
    })]))],
    marked: (text, words, style, whole) => [make("p", {class: style}, ...markWords(text, words, whole))],
    passages: (title, shown, none) => [make("h3", null, `${title} (${count(shown.length)})`), ...(shown.length
      ? shown.map(([name, beside, tags, text]) => make("details", {class: "passage"},
        make("summary", null, make("strong", null, name), ...markAll(tags), beside ? make("span", {class: "dim"}, ` ${beside}`) : null), make("div", {class: "inside"}, text)))
      : [dim(none)])],
    calls: (title, keys, file, open) => [make("h3", null, `${title} (${count(keys.length)})`), keys.length
      ? load(file, (data) => keys.map((key, place) => showCall(key, (data.calls || data)[key], open && place === 0)))
      : dim("No model was called.")],
    ids: (named) => [make("h3", null, "Ids"), make("ul", {class: "plain dim mono"}, ...named.map(([name, id]) => make("li", null, `${name} ${id}`)))],
    shared: (key) => draw(viewed.shared[key] || []),
    stored: (file, key) => [load(file, (data) => draw((data.rows || data)[key] || []))],
    component: (name, data) => (components[name] ? components[name](data) : [dim(`This page lacks the component ${name}.`)]),
  };
  let viewed = {shared: {}};

  // The nodes of blocks; a kind that this page does not know is named.
  const draw = (blocks) => blocks.flatMap(([kind, ...rest]) => (KINDS[kind] ? KINDS[kind](...rest) : [dim(`This page cannot show blocks of the kind ${kind}.`)]));

  // All texts of a value, but addresses of other rows.
  const collect = (value) => (typeof value === "string" ? (ADDRESS.test(value) ? "" : value) : Array.isArray(value) ? value.map(collect).join("\n") : "");

  function view(data) {
    const {noun, nouns, rows} = data;
    let byId;  // filled when a row is first opened: long lists are there before it
    const haystack = new Map();  // filled by the first search
    const own = document.body.dataset.artifact || "";
    const stem = own.slice(own.lastIndexOf("/") + 1).replace(/\.parquet$/, "");
    let place = 0;  // of a filter's value in a row; a choice has none
    const filters = data.filters.map((filter) => ({...filter, place: filter.filters ? place++ : null}));
    const readable = filters.filter((filter) => filter.filters);
    let found = rows;
    let page = 0;

    const chosen = () => readAddress()[noun];
    const valueOf = (name) => get(`by-${name}`).value;
    const pick = (names) => names.map(valueOf).join("|");
    const read = (row, filter) => {
      const value = row[VALUES][filter.place];
      return filter.varies.length ? value[pick(filter.varies)] ?? "" : value;
    };
    const tagsOf = (row) => {
      const [names, vary] = row[VARY]?.length ? row[VARY] : [[], {}];
      return [...(vary[pick(names)] || []), ...row[TAGS]];
    };
    // What the search looks at: no counts, ids and ledger keys, in which any short number would be found.
    const listTexts = (blocks) => blocks.flatMap(([kind, ...rest]) => (kind === "shared" ? listTexts(data.shared[rest[0]] || [])
      : HIDDEN.has(kind) ? [] : [rest]));
    const search = (row) => {
      if (!haystack.has(row)) haystack.set(row, collect([row[TITLE], listTexts(row[BLOCKS]), row[FIND] || ""]).toLowerCase());
      return haystack.get(row);
    };
    const fits = (word, row) => search(row).includes(word)
      || (word.length >= SHORTEST_ID && [row[ID], ...(row[ALSO] || [])].some((id) => id.startsWith(word)));
    const findRow = (id) => {
      byId ||= new Map(rows.map((row) => [row[ID], row]));
      return byId.get(id);
    };
    const link = (row) => make("li", null, make("a", {href: `#${noun}=${encodeURIComponent(row[ID])}`}, row[TITLE]), ...markAll(tagsOf(row)));
    viewed = {shared: data.shared, chosen, find: findRow, link};
    const normal = ({name, value}) => value || get(`by-${name}`).options[0]?.value || "";

    function filter() {
      const words = get("find").value.toLowerCase().split(/\s+/).filter(Boolean);
      const wanted = readable.filter(({name}) => valueOf(name)).map((own) => [valueOf(own.name), own]);
      found = words.length || wanted.length
        ? rows.filter((row) => wanted.every(([value, own]) => [read(row, own)].flat().includes(value)) && words.every((word) => fits(word, row)))
        : rows;
      const order = valueOf("order");
      if (order) {
        const by = readable.find(({name}) => order === `by ${name}`);
        const keys = new Map(found.map((row) => [row, by ? [read(row, by)].flat().join(" ") : row[TITLE]]));
        const compare = new Intl.Collator("en", {numeric: true}).compare;
        found = [...found].sort((one, other) => compare(keys.get(one), keys.get(other)) * (order === "down" ? -1 : 1));
      }
      page = 0;
      list();
    }

    // What the form says into the address.
    function keep() {
      const state = {find: get("find").value || null, order: valueOf("order") || null, page: page ? String(page + 1) : null};
      for (const own of filters) state[own.name] = valueOf(own.name) === normal(own) ? null : valueOf(own.name);
      writeState(state);
    }

    // What the address says into the form.
    function restore() {
      const state = readState();
      const put = (select, value) => { select.value = [...select.options].some((option) => option.value === value) ? value : select.value; };
      get("find").value = state.get("find") || "";
      put(get("by-order"), state.get("order") || "");
      for (const own of filters) put(get(`by-${own.name}`), state.has(own.name) ? state.get(own.name) : normal(own));
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

    // A link with data-narrow="name=value&..." sets these selects and clears the others.
    function narrow(wanted) {
      get("find").value = "";
      for (const own of filters) get(`by-${own.name}`).value = own.value || "";
      for (const [name, value] of new URLSearchParams(wanted)) get(`by-${name}`).value = value;
      change();
    }

    function list() {
      const pages = Math.max(1, Math.ceil(found.length / PAGE));
      page = Math.min(Math.max(page, 0), pages - 1);
      get("found").textContent = `${count(found.length)} of ${count(rows.length)} ${rows.length === 1 ? noun : nouns}`;
      get("page").textContent = `page ${count(page + 1)} of ${count(pages)}`;
      get("before").disabled = page === 0;
      get("after").disabled = page >= pages - 1;
      get("list").replaceChildren(...found.slice(page * PAGE, (page + 1) * PAGE).map((row) => make("li", null,
        make("a", {href: `#${noun}=${encodeURIComponent(row[ID])}`}, row[TITLE], make("small", null, ...markAll(tagsOf(row)))))));
      markChosen();
    }

    function markChosen() {
      for (const link of get("list").querySelectorAll("a")) {
        if (link.hash === `#${noun}=${encodeURIComponent(chosen())}`) link.setAttribute("aria-current", "true");
        else link.removeAttribute("aria-current");
      }
    }

    // Walk to the next or previous of the rows listed; from a row that is not among them, to the first.
    function walk(by) {
      if (!found.length) return;
      const here = found.findIndex((row) => row[ID] === chosen());
      const next = here < 0 ? 0 : here + by;
      if (next >= 0 && next < found.length) location.hash = `${noun}=${encodeURIComponent(found[next][ID])}`;
    }

    function showWalk(row) {
      if (!data.walk) return [];
      const here = found.indexOf(row);
      const button = (label, by, off) => {
        const made = make("button", {type: "button", disabled: off ? "" : null, "data-walk": by}, label);
        made.addEventListener("click", () => walk(by));
        return made;
      };
      return [make("div", {class: "walk"}, button("Previous", -1, here === 0), button("Next", 1, here === found.length - 1),
        make("span", {class: "where"}, here < 0 ? `not among the listed ${nouns}` : `${count(here + 1)} of ${count(found.length)} listed`))];
    }

    function show() {
      const wanted = chosen();
      if (wanted === undefined) return;
      const row = findRow(wanted);
      const place = get("detail");
      place.classList.remove("empty");
      place.replaceChildren(...(row ? [...showWalk(row), ...draw(row[BLOCKS]), ...showLineage(own, row[TRACED]?.length ? row[TRACED] : [[stem, row[ID]]])]
        : [make("p", null, `There is no ${noun} `, make("code", null, wanted), " here.")]));
      place.scrollTop = 0;
      const at = found.indexOf(row);
      if (data.walk && at >= 0 && Math.floor(at / PAGE) !== page) {
        page = Math.floor(at / PAGE);
        list();
      } else markChosen();
      const {top} = place.getBoundingClientRect();
      if (top < 0 || top > innerHeight * 0.6) get("browse").scrollIntoView();
    }

    // The rows found, as a file: how they are called, and what they are filtered by.
    function save() {
      download(nouns, [[`${noun} id`, noun, ...readable.map(({name}) => name), "more"],
        ...found.map((row) => [row[ID], row[TITLE], ...readable.map((own) => [read(row, own)].flat().join("; ")), collect(listTexts(row[BLOCKS]))])]);
    }

    for (const own of filters) {
      const {name, options, value} = own;
      const there = options.length || !own.filters ? options
        : [...new Set(rows.flatMap((row) => read(row, own)))].filter(Boolean).sort().map((each) => [each, each.replaceAll("_", " ")]);
      const offered = own.filters ? [["", "any"], ...there] : there;
      get(`by-${name}`).replaceChildren(...offered.map(([each, label]) => make("option", {value: each}, label)));
      if (value) get(`by-${name}`).value = value;
      get(`by-${name}`).addEventListener("change", () => { change(); if (!own.filters) show(); });
    }
    const orders = [["", "as listed"], ["up", "A to Z"], ["down", "Z to A"], ...readable.map(({name}) => [`by ${name}`, `by ${name}`])];
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
    addEventListener("keydown", (event) => {
      if (event.key === "Escape" && get("detail").contains(document.activeElement)) get("list").querySelector("[aria-current]")?.focus();
      if (!data.walk || event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, select, textarea")) return;
      const by = {j: 1, ArrowRight: 1, k: -1, ArrowLeft: -1}[event.key];
      if (by && (event.key.length === 1 || event.target.closest("#browse"))) {
        event.preventDefault();
        walk(by);
      }
    });
    restore();
    show();
  }

  Object.assign(Benchloom, {mark, dim, draw, markWords, showLineage, components});
  addEventListener("DOMContentLoaded", () => { if (get("browse")) Benchloom.want("rows", view); });
})();
