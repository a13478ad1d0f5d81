"use strict";
// The viewer of a question set: each question with its reference answer, its evidence and its database.
Benchloom.want("rows", (data) => {
  const {browse, mark, showCalls, showIds, showItem} = Benchloom;
  const itemOf = (row) => data.items[row.id];
  const BY = {plain: "stated plainly", model: "worded by a model"};
  const markBy = (item) => (item.by ? [mark(BY[item.by] || item.by, "off")] : []);

  browse({
    rows: data.rows, noun: "question", nouns: "questions",
    id: (row) => row.id,
    title: (row) => itemOf(row).question,
    marks: (row) => [mark(itemOf(row).kind), mark(itemOf(row).database, "off"), ...markBy(itemOf(row))],
    texts: (row) => [itemOf(row).question, itemOf(row).controlled, itemOf(row).reference,
      ...itemOf(row).claims.flatMap((claim) => [claim[0], claim[1]])],
    ids: (row) => [row.id],
    selects: {
      database: {read: (row) => itemOf(row).database}, kind: {read: (row) => itemOf(row).kind},
      confirmed: {read: (row) => itemOf(row).confirmed_by},
    },
    detail: (row) => [
      ...showItem(itemOf(row)), ...showCalls("Calls", row.calls),
      ...showIds({question: row.id, "confirmed by": itemOf(row).confirmed_by, "made from": itemOf(row).origin.join(", ")}),
    ].filter(Boolean),
  });
});
