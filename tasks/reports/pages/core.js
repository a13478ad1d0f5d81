"use strict";
// What every page needs: data that comes as scripts, elements whose text is never markup, the address.
const Benchloom = (() => {
  const given = new Map();
  const waiting = new Map();

  // A data file calls this with its name and content.
  function give(name, data) {
    given.set(name, data);
    for (const take of waiting.get(name) || []) take(data);
    waiting.delete(name);
  }

  // Hand data over when it is there. A page on a disk may not fetch, so a file not yet asked for
  // is loaded as a script.
  function want(name, take, failed) {
    if (given.has(name)) return take(given.get(name));
    const asked = waiting.has(name) || document.querySelector(`script[src="${name}.js"]`);
    waiting.set(name, [...(waiting.get(name) || []), take]);
    if (asked) return undefined;
    const script = document.createElement("script");
    script.src = `${name}.js`;
    script.onerror = () => { waiting.delete(name); script.remove(); failed?.(); };
    return document.head.append(script);
  }

  // make("a", {href: "#x", class: "tag"}, "text", node, ...): strings become text nodes.
  function make(tag, attributes, ...children) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes || {})) {
      if (value !== null && value !== undefined && value !== false) element.setAttribute(name, value);
    }
    element.append(...children.filter((child) => child !== null && child !== undefined));
    return element;
  }

  const KEYWORDS = /\b(?:select|distinct|from|where|and|or|inner|left|join|on|as|is|not|null|in|like|union|order|by|limit)\b/gi;
  const SLOTS = /\[[^\][]*\]/g;

  // A query, or a text with slots, as nodes: keywords and [table.column] stand out.
  function paint(text, isSql, hasSlots = true) {
    const marks = [];
    if (hasSlots) for (const match of text.matchAll(SLOTS)) marks.push([match.index, match[0], "slot"]);
    if (isSql) {
      const literals = [...text.matchAll(/'(?:[^']|'')*'/g)].map((each) => [each.index, each.index + each[0].length]);
      for (const match of text.matchAll(KEYWORDS)) {
        if (!literals.some(([from, to]) => match.index >= from && match.index < to)) marks.push([match.index, match[0], "keyword"]);
      }
    }
    marks.sort((one, other) => one[0] - other[0]);
    const nodes = [];
    let place = 0;
    for (const [start, word, kind] of marks) {
      if (start < place) continue;
      nodes.push(text.slice(place, start), make("span", {class: kind}, word));
      place = start + word.length;
    }
    nodes.push(text.slice(place));
    return nodes;
  }

  // "#question=3f2a" -> {question: "3f2a"}
  function readAddress() {
    return Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
  }

  // What is shown of the page (search, filters, order) is the address's query; which row, its fragment.
  const readState = () => new URLSearchParams(location.search);

  // changes: name -> value, or a list of values; null where it is as it was at first. Back leads to the row
  // before, and not to the letter before.
  function writeState(changes) {
    const state = readState();
    for (const [name, value] of Object.entries(changes)) {
      state.delete(name);
      for (const each of [value ?? []].flat()) state.append(name, each);
    }
    const query = state.toString();
    history.replaceState(history.state, "", `${location.pathname}${query ? `?${query}` : ""}${location.hash}`);
  }

  // Write rows of cells as CSV and hand them over as a file. A text that a spreadsheet would take for a
  // formula gets a quote before it.
  function download(name, rows) {
    const write = (cell) => {
      const text = String(cell ?? "").replace(/\s+/g, " ").trim();
      const safe = /^[=+\-@]/.test(text) && !/^[+-]?[\d.,]+%?$/.test(text) ? `'${text}` : text;
      return /[",]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
    };
    // With a byte order mark: spreadsheets take a CSV without one for another encoding.
    const url = URL.createObjectURL(new Blob(["\ufeff", rows.map((row) => row.map(write).join(",")).join("\r\n"), "\r\n"], {type: "text/csv"}));
    const link = make("a", {href: url, download: `${name}.csv`});
    link.click();
    setTimeout(() => URL.revokeObjectURL(url), 1000);
  }

  const count = (number) => number.toLocaleString("en");

  // A box of the graph opens its artifact's details; without scripts it still jumps there.
  function openArtifact() {
    const name = readAddress().artifact;
    for (const box of document.querySelectorAll("[data-artifact]")) {
      if (box.dataset.artifact === name) box.setAttribute("aria-current", "true");
      else box.removeAttribute("aria-current");
    }
    const details = name && document.getElementById(`artifact=${name}`);
    if (details) {
      details.open = true;
      details.scrollIntoView({block: "nearest"});
    }
  }
  addEventListener("hashchange", openArtifact);
  addEventListener("DOMContentLoaded", openArtifact);

  return {give, want, make, paint, readAddress, readState, writeState, download, count};
})();
