"use strict";
// An item with its reference answer, each claim with the query that bears it out, and its whole database.
(() => {
  const {make, count, mark, dim, paint} = Benchloom;
  const sql = (text) => make("pre", {class: "sql"}, ...paint(text, true, false));
  const said = (text, kind) => make("p", {class: `said ${kind || ""}`}, text);
  const tellRows = (number) => `${count(number)} ${number === 1 ? "row" : "rows"}`;
  const open = (kind, summary, ...inside) => make("details", {class: kind},
    make("summary", null, ...[summary].flat()), make("div", {class: "inside"}, ...inside));

  function showRows([, columns, rows, total]) {
    if (!total) return [dim("No rows.")];
    const cells = (row) => row.map((cell) => make("td", {class: typeof cell === "number" ? "n" : null},
      cell === null ? make("span", {class: "dim"}, "NULL") : String(cell)));
    return [
      make("div", {class: "scroll", tabindex: "0"}, make("table", {class: "result"},
        make("thead", null, make("tr", null, ...columns.map((name) => make("th", null, name)))),
        make("tbody", null, ...rows.map((row) => make("tr", null, ...cells(row)))))),
      ...(rows.length < total ? [dim(`${count(rows.length)} of ${tellRows(total)} shown, as the agent saw them.`)] : []),
    ];
  }

  function showClaim([text, query, result]) {
    return open("claim", [text, make("span", {class: "dim"}, ` · ${tellRows(result[3])}`)], sql(query), ...showRows(result));
  }

  function showDatabase(item) {
    const told = item.measures.map(([column, holds]) => make("li", null, make("span", {class: "mono"}, column), " ",
      mark(holds ? "as conjectured" : "not as conjectured", holds ? "good" : "off")));
    return [
      make("h3", null, "Synthetic database ", mark(item.database, "off")),
      dim(`${item.tables.length === 1 ? "1 table" : `${count(item.tables.length)} tables`}, ${tellRows(item.tables.reduce((sum, table) => sum + table[3], 0))}`,
        item.rounds === null ? "" : `; its rows were asked for ${item.rounds === 1 ? "once" : `${count(item.rounds)} times`}`, "."),
      ...(told.length ? [make("ul", {class: "plain"}, ...told)] : [dim("Nothing is known of its conjecture.")]),
      ...item.tables.map((table) => open("rows", [make("strong", {class: "mono"}, table[0]), make("span", {class: "dim"}, ` · ${tellRows(table[3])}`)], ...showRows(table))),
    ];
  }

  function showItem(item) {
    return [
      make("h3", null, "Question ", mark(item.kind, "off")), make("p", {class: "question"}, item.question),
      item.controlled ? open("claim", "What it was condensed from", said(item.controlled)) : null,
      make("h3", null, "Reference answer ", item.by === "plain" ? mark("stated plainly", "off") : ""), said(item.reference, "reply"),
      ...(item.claims.length ? item.claims.map(showClaim) : [dim("No query backs it.")]),
      ...showDatabase(item),
    ];
  }

  Object.assign(Benchloom, {sql, said, tellRows, showRows, showItem});
})();
