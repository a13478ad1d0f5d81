"use strict";
// What only an evaluation over a stream shows of a step: the squares of its run, and the same item in other runs.
(() => {
  const {make, want, count, mark, components} = Benchloom;
  const MOST_TRACED = 400;
  const [ID, TAGS, BLOCKS] = [0, 3, 4];  // of a row, as pages/viewer.js reads it
  let byItem;  // filled when a step is first opened

  // A place that is filled with what comes of a data file.
  function fill(file, show) {
    const place = make("div", null);
    want(file, (data) => place.replaceChildren(...show(data)));
    return [place];
  }

  components.trace = ({file, step}) => fill(file, ({trace}) => {
    const here = trace.findIndex(([id]) => id === step);
    const near = trace.length <= MOST_TRACED ? trace : trace.slice(Math.max(0, here - MOST_TRACED / 2), here + MOST_TRACED / 2);
    return [make("div", {class: "trace", role: "group", "aria-label": "The steps of this run"}, ...near.map(([id, title, kind]) => make("a", {
      href: `#step=${id}`, class: kind, tabindex: "-1", title, "aria-label": title, "aria-current": id === step ? "true" : null})))];
  });

  components.others = ({step, item}) => fill("rows", ({rows}) => {
    byItem ||= rows.reduce((found, row) => found.set(row[BLOCKS][0][1], [...(found.get(row[BLOCKS][0][1]) || []), row]), new Map());
    const others = byItem.get(item).filter((row) => row[ID] !== step);
    return others.length ? [make("details", {class: "passage"},
      make("summary", null, make("strong", null, `The same item in other runs (${count(others.length)})`)),
      make("div", {class: "inside"}, make("ul", {class: "others"}, ...others.map((row) => make("li", null,
        ...row[TAGS].slice(0, 2).flatMap(([text, kind]) => [mark(text, kind), " "]), make("a", {href: `#step=${row[ID]}`}, row[TAGS][2][0]))))))] : [];
  });
})();
