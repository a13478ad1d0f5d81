"use strict";
// A lineage to walk: on the left the tree of what things come from, on the right the thing chosen.
// nodes: {kind, reference, name, summary, parents: numbers of nodes, cut: parents not on the page}.
(() => {
  const {make, paint, readAddress, count} = Benchloom;
  const {nodes, roots} = JSON.parse(document.getElementById("trail").textContent);
  const tree = document.getElementById("tree");
  const detail = document.getElementById("detail");
  const OPEN = 3;        // levels that are open at first ...
  const FEW = 8;         // ... where no more than so many stand beside each other
  const MADE = ["file", "stage"];
  const SQL = ["sql"];
  const FIRST = ["question", "answer", "text", "sql", "command", "row", "key", "messages"];
  const children = nodes.map(() => []);
  nodes.forEach((node, place) => node.parents.forEach((parent) => children[parent].push(place)));

  // The nearest way from a target to each node: what the crumbs show.
  const ways = new Map(roots.map((place) => [place, [place]]));
  for (const waiting = [...roots]; waiting.length;) {
    const here = waiting.shift();
    for (const parent of nodes[here].parents) {
      if (!ways.has(parent)) {
        ways.set(parent, [...ways.get(here), parent]);
        waiting.push(parent);
      }
    }
  }

  const tag = (node) => make("span", {class: `tag is-${node.kind}`}, node.kind);
  const link = (place) => make("a", {href: `#node=${place}`}, nodes[place].name);

  function tell(node) {
    const {summary} = node;
    const told = summary.question ?? summary.text ?? summary.answer ?? summary.sql ?? summary.label ?? summary.detail ?? summary.command;
    return told === undefined ? "" : String(told);
  }

  function makeItem(place, level, beside) {
    const node = nodes[place];
    const item = make("li", {role: "treeitem", tabindex: "-1", "aria-level": String(level), "aria-selected": "false",
      "aria-expanded": node.parents.length ? "false" : null, "aria-label": `${node.kind} ${node.name}`},
    make("div", {class: "line"}, make("span", {class: "turn", "aria-hidden": "true"}), tag(node),
      make("span", {class: "words", title: node.reference}, node.name, make("small", null, ` ${tell(node).slice(0, 160)}`))));
    item.dataset.node = String(place);
    if (node.parents.length && level < OPEN && beside <= FEW && !MADE.includes(node.kind)) open(item);
    return item;
  }

  function open(item) {
    if (item.getAttribute("aria-expanded") !== "false") return;
    item.setAttribute("aria-expanded", "true");
    const level = Number(item.getAttribute("aria-level")) + 1;
    if (!item.querySelector(":scope > ul")) {
      const {parents, cut} = nodes[Number(item.dataset.node)];
      item.append(make("ul", {role: "group"}, ...parents.map((place) => makeItem(place, level, parents.length)),
        cut ? make("li", {role: "none", class: "dim"}, `and ${count(cut)} more, which this page leaves out`) : null));
    }
    item.querySelector(":scope > ul").hidden = false;
  }

  function close(item) {
    if (item.getAttribute("aria-expanded") !== "true") return;
    item.setAttribute("aria-expanded", "false");
    item.querySelector(":scope > ul").hidden = true;
  }

  const items = () => [...tree.querySelectorAll("[role=treeitem]")].filter((each) => each.offsetParent !== null);

  function focus(item) {
    if (!item) return;
    for (const each of tree.querySelectorAll('[tabindex="0"]')) each.tabIndex = -1;
    item.tabIndex = 0;
    item.focus({preventScroll: true});
    item.firstElementChild.scrollIntoView({block: "nearest"});
  }

  tree.addEventListener("keydown", (event) => {
    const item = event.target.closest("[role=treeitem]");
    if (!item || event.ctrlKey || event.metaKey || event.altKey) return;
    const all = items();
    const at = all.indexOf(item);
    const expanded = item.getAttribute("aria-expanded");
    const moves = {
      ArrowDown: () => focus(all[at + 1]),
      ArrowUp: () => focus(all[at - 1]),
      Home: () => focus(all[0]),
      End: () => focus(all[all.length - 1]),
      ArrowRight: () => (expanded === "false" ? open(item) : focus(item.querySelector("[role=treeitem]"))),
      ArrowLeft: () => (expanded === "true" ? close(item) : focus(item.parentElement.closest("[role=treeitem]"))),
      Enter: () => choose(item),
      " ": () => choose(item),
    };
    if (moves[event.key]) {
      event.preventDefault();
      moves[event.key]();
    }
  });

  tree.addEventListener("click", (event) => {
    const item = event.target.closest("[role=treeitem]");
    if (!item) return;
    if (event.target.closest(".turn")) (item.getAttribute("aria-expanded") === "true" ? close : open)(item);
    else choose(item);
    focus(item);
  });

  function choose(item) {
    open(item);
    const wanted = `#node=${item.dataset.node}`;
    if (location.hash === wanted) show(); else location.hash = wanted;
  }

  function showList(value) {
    if (!value.length) return make("span", {class: "dim"}, "none");
    if (value.every((each) => each && typeof each === "object" && !Array.isArray(each)) && "role" in value[0]) {
      return make("div", null, ...value.flatMap((each) => [make("h3", null, each.role), make("pre", null, each.content)]));
    }
    const objects = value.every((each) => each && typeof each === "object" && !Array.isArray(each));
    // What holds lists of its own is no line of a table.
    if (objects && value.some((each) => Object.values(each).some(Array.isArray))) return make("div", null, ...value.map((each) => showFacts(each)));
    const heads = objects ? [...new Set(value.flatMap(Object.keys))] : null;
    if (!heads) return make("span", {class: "mono"}, value.map((each) => (typeof each === "string" ? each : JSON.stringify(each))).join(", "));
    return make("div", {class: "scroll"}, make("table", null,
      make("thead", null, make("tr", null, ...heads.map((name) => make("th", null, name)))),
      make("tbody", null, ...value.map((each) => make("tr", null, ...heads.map((name) => make("td", {class: "mono"}, showValue(each[name], name))))))));
  }

  function showValue(value, name, node) {
    if (value === null || value === undefined) return make("span", {class: "dim"}, "null");
    if (Array.isArray(value)) return showList(value);
    if (typeof value === "object") return showFacts(value, node);
    const text = String(value);
    if (SQL.includes(name)) return make("pre", {class: "sql"}, ...paint(text, true, /'\[/.test(text)));
    if (text.length > 160 || text.includes("\n")) return make("pre", null, text);
    return make("span", {class: /(md5|sha256|digest|commit|id|identity|reference)$/.test(name) ? "mono" : null}, text);
  }

  function showFacts(facts, node) {
    const names = Object.keys(facts);
    const rank = (name) => (FIRST.includes(name) ? FIRST.indexOf(name) : FIRST.length);
    if (facts === node?.summary) names.sort((one, other) => rank(one) - rank(other));
    if (!names.length) return make("span", {class: "dim"}, "none");
    return make("dl", {class: "facts"}, ...names.map((name) => make("div", null, make("dt", null, name), make("dd", null, showValue(facts[name], name, node)))));
  }

  function showLinks(title, places, cut) {
    return [make("h3", null, `${title} (${count(places.length + cut)})`),
      places.length || cut
        ? make("ul", {class: "links"}, ...places.slice(0, 100).map((place) => make("li", null, tag(nodes[place]), " ", link(place))),
          places.length > 100 || cut ? make("li", {class: "dim"}, `and ${count(Math.max(0, places.length - 100) + cut)} more`) : null)
        : make("p", {class: "dim"}, "None. This node is a source.")];
  }

  function show() {
    const wanted = Number(readAddress().node ?? roots[0]);
    const node = nodes[wanted];
    if (!node) {
      detail.replaceChildren(make("p", null, "This page does not contain that node."));
      return;
    }
    const {value, label, ...facts} = node.summary;
    const rest = node.kind === "figure" ? facts : node.summary;
    detail.replaceChildren(
      make("ul", {class: "way", "aria-label": "Path to this node"}, ...(ways.get(wanted) ?? [wanted]).map((place) => make("li", null, link(place)))),
      tag(node), make("h2", {class: "mono"}, node.reference),
      ...(node.kind === "figure" ? [make("p", {class: "value"}, value === null ? "null" : value.toLocaleString("en")), make("p", {class: "dim"}, label)] : []),
      showFacts(rest, {summary: rest}),
      ...showLinks("Comes from", node.parents, node.cut),
      ...(children[wanted].length ? showLinks("Leads to", children[wanted], 0) : []));
    detail.scrollTop = 0;
    for (const item of tree.querySelectorAll("[role=treeitem]")) item.setAttribute("aria-selected", String(Number(item.dataset.node) === wanted));
  }

  tree.append(...roots.map((place) => makeItem(place, 1, roots.length)));
  tree.querySelector("[role=treeitem]").tabIndex = 0;
  addEventListener("hashchange", show);
  show();
})();
