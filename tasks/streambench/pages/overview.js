"use strict";
// The runs that an overview joins: how many steps each had right, what it cost, and the page that walks it.
Benchloom.want("rows", (runs) => {
  const {make, count, browse, mark, lineageOf, showCommand} = Benchloom;
  const share = (run) => `${(100 * run.right / run.steps).toFixed(1)}%`;

  browse({
    rows: runs, noun: "run", nouns: "runs",
    id: (run) => run.id,
    title: (run) => `${run.method}, ${run.models}: ${run.dataset}, seed ${run.seed}`,
    marks: (run) => [mark(`${share(run)} right`, "off"), ...(run.failed ? [mark(`${count(run.failed)} failed`)] : [])],
    texts: (run) => [run.dataset, run.method, run.models, run.evaluation],
    ids: () => [],
    selects: {
      dataset: {read: (run) => run.dataset}, method: {read: (run) => run.method}, models: {read: (run) => run.models},
    },
    detail: (run) => [
      make("h3", null, `${run.method} over ${run.dataset}`),
      make("ul", {class: "plain"},
        make("li", null, `${count(run.right)} of ${count(run.steps)} steps right (${share(run)})`),
        make("li", null, `${count(run.failed)} failed, ${count(run.unjudged)} unjudged: they count as wrong`),
        make("li", null, `models ${run.models}, seed ${run.seed}, k = ${run.k}`),
        make("li", null, `${count(run.tokens_in)} tokens in, ${count(run.tokens_out)} out`)),
      make("p", null, make("a", {href: run.page}, `Evaluation ${run.evaluation}, step by step`)),
      make("h3", null, "Where its first step comes from"), showCommand(lineageOf(run.scores, run.first)),
    ],
    traced: () => [],  // its steps, by the command above
  });
});
