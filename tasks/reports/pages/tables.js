"use strict";
// What every page does with its tables and figures: sort them, take them along as CSV, search and filter marked
// rows, and say of a figure or a row which command walks back to what it was made from. All that is chosen
// stands in the address, so that a link shows what one sees.
(() => {
  const {make, readState, writeState, download, count} = Benchloom;
  const PATIENCE_MS = 120;
  const APART = ".panel, .tags, .chart table.bars, #detail table";

  const tell = (cell) => cell.textContent.replace(/\s+/g, " ").trim();

  // The name of a table in the address: that of the part it stands in, with its place there.
  function nameTable(table) {
    const part = table.id ? table : table.closest("[id]:not([id=''])") || document.body;
    const others = [...part.querySelectorAll("table")];
    const place = part === table ? 0 : others.indexOf(table);
    return `${part.id || "page"}${place > 0 ? `.${place + 1}` : ""}`;
  }

  // Head cells that stand for one column each, by the number of that column.
  function listColumns(table) {
    const rows = [...table.tHead.rows];
    const taken = rows.map(() => []);
    const found = new Map();
    rows.forEach((row, level) => {
      let place = 0;
      for (const cell of row.cells) {
        while (taken[level][place]) place += 1;
        for (let down = level; down < Math.min(rows.length, level + cell.rowSpan); down += 1) {
          for (let along = place; along < place + cell.colSpan; along += 1) taken[down][along] = cell;
        }
        if (cell.colSpan === 1) found.set(place, cell);
        place += cell.colSpan;
      }
    });
    // A group's own head stands above several columns.
    const names = new Map([...found.keys()].map((column) => [column,
      [...new Set(taken.map((row) => row[column]).filter(Boolean))].map(headOf).filter(Boolean).join(" ")]));
    return {found, names};
  }

  const headOf = (cell) => cell.dataset.head ?? tell(cell);

  function cellAt(row, column) {
    let place = 0;
    for (const cell of row.cells) {
      if (column < place + cell.colSpan) return cell;
      place += cell.colSpan;
    }
    return undefined;
  }

  // A cell's own value: what stands out in it, else all its text.
  const valueOf = (cell) => cell?.dataset.value ?? tell(cell?.querySelector("strong") || cell || make("i"));

  function readNumber(text) {
    const found = /^[<$]?([+-]?[\d,]*\.?\d+)%?(?:$|\s)/.exec(text);
    return found ? Number(found[1].replaceAll(",", "")) : NaN;
  }

  // What an address sorts or filters is shown, although it stands in a fold.
  function unfold(element) {
    const fold = element.closest("details");
    if (fold) fold.open = true;
  }

  function sort(table, column, down) {
    const body = table.tBodies[0];
    const rows = [...body.rows].map((row) => [row, valueOf(cellAt(row, column))]);
    const numbers = rows.filter(([, text]) => text && !Number.isNaN(readNumber(text))).length;
    const isNumeric = numbers * 2 > rows.filter(([, text]) => text).length;
    const key = ([, text]) => (isNumeric ? readNumber(text) : text.toLowerCase());
    const isEmpty = (value) => value === "" || Number.isNaN(value);
    rows.sort((one, other) => {
      const [a, b] = [key(one), key(other)];
      if (isEmpty(a) || isEmpty(b)) return isEmpty(a) - isEmpty(b);
      const order = isNumeric ? a - b : a.localeCompare(b, "en", {numeric: true});
      return down ? -order : order;
    });
    body.append(...rows.map(([row]) => row));
  }

  // A cell as columns of a file: its value, its interval where it has one, and what else it says.
  function split(cell) {
    if (!cell) return ["", "", "", ""];
    const value = valueOf(cell);
    const all = tell(cell);
    const rest = cell.dataset.value === undefined && cell.querySelector("strong") ? all.replace(value, "").trim() : "";
    const interval = /([+-]?[\d.,]+) to ([+-]?[\d.,]+)/.exec(rest);
    return [value, interval ? interval[1] : "", interval ? interval[2] : "", (interval ? rest.replace(interval[0], "") : rest).trim()];
  }

  function save(table, names) {
    const columns = [...names.keys()].sort((one, other) => one - other);
    const rows = [...table.tBodies[0].rows].filter((row) => !row.hidden).map((row) => columns.map((column) => split(cellAt(row, column))));
    const parts = columns.map((column, place) => ["", " low", " high", " beside"].map((ending, part) => ({place, part, name: `${names.get(column)}${ending}`}))
      .filter(({part}) => part === 0 || rows.some((row) => row[place][part]))).flat();
    download(nameTable(table).replace(/[^\w.-]+/g, "_"), [parts.map(({name}) => name), ...rows.map((row) => parts.map(({place, part}) => row[place][part]))]);
  }

  function prepare(table) {
    const name = nameTable(table);
    const {found, names} = listColumns(table);
    const given = [...table.tBodies[0].rows];
    const columns = new Map();

    function order(column, down) {
      for (const [place, cell] of columns) {
        if (place === column) cell.setAttribute("aria-sort", down ? "descending" : "ascending");
        else cell.removeAttribute("aria-sort");
      }
      if (column === undefined) table.tBodies[0].append(...given);
      else sort(table, column, down);
    }

    // Upwards, downwards, then as it was.
    function turn(column) {
      const now = columns.get(column).getAttribute("aria-sort");
      const chosen = now === "descending" ? undefined : `${now ? "-" : ""}${column}`;
      writeState({sort: [...readState().getAll("sort").filter((one) => !one.startsWith(`${name}:`)), ...(chosen === undefined ? [] : [`${name}:${chosen}`])]});
      order(chosen === undefined ? undefined : column, Boolean(now));
    }

    if (given.length > 1) {
      for (const [column, cell] of found) {
        if (!tell(cell)) continue;
        const button = make("button", {type: "button", class: "sort"}, ...cell.childNodes);
        button.addEventListener("click", () => turn(column));
        cell.append(button);
        columns.set(column, cell);
      }
    }
    for (const row of given) {
      let place = 0;
      for (const cell of row.cells) {
        cell.dataset.label = cell.colSpan === 1 ? names.get(place) || "" : "";
        place += cell.colSpan;
      }
    }
    const take = make("button", {type: "button", class: "take"}, "CSV");
    take.setAttribute("aria-label", `Download ${name} as CSV`);
    take.addEventListener("click", () => save(table, names));
    (table.closest(".scroll") || table).after(make("p", {class: "takes"}, take));

    function restore() {
      const own = readState().getAll("sort").find((one) => one.startsWith(`${name}:`))?.slice(name.length + 1);
      const column = own === undefined ? undefined : Math.abs(parseInt(own, 10));
      if (own !== undefined) unfold(table);
      if (column === undefined || columns.has(column)) order(column, own?.startsWith("-"));
    }
    if (readState().has("sort")) restore();
    addEventListener("popstate", restore);
  }

  // A table that is wider than its place becomes a list of its rows, in which everything is seen. What a table
  // means is said again, since a browser forgets it of one that is laid out otherwise.
  function stack(table) {
    const place = table.closest(".scroll");
    if (!place || !table.tHead || !place.clientWidth) return;
    table.classList.remove("stacked");
    const isWide = innerWidth <= 640 && place.scrollWidth > place.clientWidth + 1;
    table.classList.toggle("stacked", isWide);
    const roles = isWide ? {TABLE: "table", TBODY: "rowgroup", TR: "row", TD: "cell", TH: "rowheader"} : {};
    for (const element of [table, ...table.tBodies[0].querySelectorAll("tr, td, th"), table.tBodies[0]]) {
      if (roles[element.tagName]) element.setAttribute("role", roles[element.tagName]);
      else element.removeAttribute("role");
    }
  }

  const stackAll = (within) => { for (const table of within.querySelectorAll(".scroll > table")) stack(table); };

  // A part that scrolls must be reached without a mouse.
  function reachAll() {
    for (const place of document.querySelectorAll(".scroll, .graph, pre, #detail")) {
      if (place.scrollWidth > place.clientWidth || place.scrollHeight > place.clientHeight) place.tabIndex = 0;
    }
  }

  let asked = 0;
  function reachSoon() {
    cancelAnimationFrame(asked);
    asked = requestAnimationFrame(reachAll);
  }

  const quote = (text) => (/^[\w./@:-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);

  const lineageOf = (target, row) => `benchloom lineage ${quote(target)}${row === undefined ? "" : ` --row ${quote(row)}`}`;

  // A command to copy. Where the browser does not let a page copy, the text is selected for it.
  function showCommand(command) {
    const code = make("code", null, command);
    const button = make("button", {type: "button"}, "Copy");
    button.addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText(command);
        button.textContent = "Copied";
      } catch {
        getSelection().selectAllChildren(code);
        button.textContent = "Selected: copy it";
      }
    });
    return make("p", {class: "command"}, code, button);
  }

  function openLineage(title, target) {
    document.getElementById("lineage")?.remove();
    const close = make("button", {type: "button"}, "Close");
    const dialog = make("dialog", {id: "lineage", "aria-labelledby": "lineage-title"},
      make("h2", {id: "lineage-title"}, title), make("p", {class: "dim"}, "Run this command in the project's folder. It lists the rows, calls and files from which the figure was computed. Add --html to write a page."),
      showCommand(lineageOf(target)), close);
    close.addEventListener("click", () => dialog.close());
    document.body.append(dialog);
    dialog.showModal();
  }

  // A figure whose place in the page's record is known becomes a button.
  function trace(figure, pointer, record) {
    const text = tell(figure);
    const button = make("button", {type: "button", class: "figure", title: "Show where this figure comes from", "aria-label": `${text}: where it comes from`}, ...figure.childNodes);
    button.addEventListener("click", () => openLineage(`Where ${text} comes from`, `${record}#${pointer}`));
    figure.append(button);
  }

  function traceAll() {
    const {record, tables} = document.body.dataset;
    for (const [key, pointer] of Object.entries(record ? JSON.parse(tables || "{}") : {})) {
      const table = document.getElementById(`table-${key}`)?.querySelector("table");
      [...(table?.tBodies[0].rows || [])].forEach((row, line) => {
        let place = -[...row.cells].filter((cell) => cell.matches("th[scope=row]")).length;
        for (const cell of row.cells) {
          const value = cell.querySelector(":scope > strong");
          if (value && place >= 0 && !value.dataset.figure) value.dataset.figure = `${pointer}/lines/${line}/cells/${place}`;
          place += cell.colSpan;
        }
      });
    }
    for (const figure of document.querySelectorAll("[data-figure]")) {
      const own = figure.closest("[data-record]")?.dataset.record;
      if (own) trace(figure, figure.dataset.figure, own);
    }
  }

  // Rows that are marked by what they are (data-row: name -> value) are searched and filtered by a form.
  function narrow(form) {
    const target = form.dataset.narrows;
    const rows = [...document.getElementById(target).querySelectorAll("[data-row]")]
      .map((row) => ({row, own: JSON.parse(row.dataset.row), text: row.textContent.toLowerCase()}));
    const find = form.querySelector("input");
    const names = [...new Set(rows.flatMap(({own}) => Object.keys(own)))];
    const selects = names.map((name) => {
      const values = [...new Set(rows.map(({own}) => own[name]).filter((value) => value !== undefined))].sort();
      const select = make("select", {name}, make("option", {value: ""}, "any"), ...values.map((value) => make("option", {value}, value || "none")));
      if (values.length > 1) form.append(make("label", null, make("span", null, name), select));
      return select;
    });

    function show() {
      const words = find.value.toLowerCase().split(/\s+/).filter(Boolean);
      const wanted = selects.filter((select) => select.value);
      let shown = 0;
      for (const {row, own, text} of rows) {
        row.hidden = !(wanted.every((select) => own[select.name] === select.value) && words.every((word) => text.includes(word)));
        shown += !row.hidden;
      }
      for (const group of document.getElementById(target).querySelectorAll("[data-group]")) group.hidden = !group.querySelector("[data-row]:not([hidden])");
      for (const place of document.querySelectorAll(`[data-count="${target}"]`)) place.textContent = shown === rows.length ? `${count(rows.length)} in all` : `${count(shown)} of ${count(rows.length)}`;
    }

    function restore() {
      const state = readState();
      if ([...state.keys()].some((name) => name.startsWith(`${target}.`))) unfold(form);
      find.value = state.get(`${target}.find`) || "";
      for (const select of selects) {
        const value = state.get(`${target}.${select.name}`) || "";
        select.value = [...select.options].some((option) => option.value === value) ? value : "";
      }
      show();
    }

    function keep() {
      writeState({[`${target}.find`]: find.value || null, ...Object.fromEntries(selects.map((select) => [`${target}.${select.name}`, select.value || null]))});
      show();
    }

    let timer;
    find.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(keep, PATIENCE_MS); });
    for (const select of selects) select.addEventListener("change", keep);
    form.addEventListener("submit", (event) => event.preventDefault());
    addEventListener("popstate", restore);
    restore();
  }

  Object.assign(Benchloom, {lineageOf, showCommand, stackAll, prepareTable: prepare});

  addEventListener("DOMContentLoaded", () => {
    traceAll();
    for (const table of document.querySelectorAll("main table")) {
      if (table.tHead && table.tBodies[0]?.rows.length && !table.matches(APART)) prepare(table);
    }
    for (const form of document.querySelectorAll("[data-narrows]")) narrow(form);
    for (const place of document.querySelectorAll("[data-lineage]")) place.replaceChildren(showCommand(lineageOf(place.dataset.lineage, place.dataset.of)));
    stackAll(document);
    addEventListener("resize", () => { stackAll(document); reachSoon(); });
    // What was closed had no size.
    document.addEventListener("toggle", (event) => { stackAll(event.target); reachSoon(); }, true);
    reachAll();
    new MutationObserver(reachSoon).observe(document.body, {childList: true, subtree: true});
  });
})();
