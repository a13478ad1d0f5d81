"use strict";
// The items of a stream: what a prompt shows of each, its true answer, and its place in each order.
Benchloom.want("rows", (items) => {
  const {make, count, browse, mark, showPassage, showIds} = Benchloom;

  browse({
    rows: items, noun: "item", nouns: "items",
    id: (item) => item.id,
    title: (item) => item.text.slice(0, 300),
    marks: (item) => [mark(item.dataset, "off"), ...(item.kind && item.kind !== item.dataset ? [mark(item.kind)] : []),
      ...item.places.slice(0, 1).map(([seed, position]) => mark(`place ${count(position)} of seed ${seed}`, "off"))],
    texts: (item) => [item.text, item.key, item.gold],
    ids: (item) => [item.id],
    selects: {dataset: {read: (item) => item.dataset}, kind: {read: (item) => item.kind}},
    detail: (item) => [
      make("h3", null, "Item"), make("p", {class: "question"}, item.text),
      make("h3", null, "True answer"), make("pre", {class: "gold"}, item.gold),
      ...(item.context ? [showPassage("What a prompt shows beside it", [], make("pre", null, item.context))] : []),
      ...(item.memory_key === item.text ? [] : [showPassage("What a memory finds it by", [], make("pre", null, item.memory_key))]),
      showPassage("What its environment needs", [], make("pre", null, item.details)),
      make("h3", null, "Places"), make("ul", {class: "plain"}, ...item.places.map(([seed, position]) => make("li", null, `seed ${seed}: ${count(position)}`))),
      ...showIds({item: item.id, key: item.key, ...(item.file ? {file: item.file} : {})}),
    ],
  });
});
