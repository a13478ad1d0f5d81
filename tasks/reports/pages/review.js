"use strict";
// Decide on items one by one, by keys. Each act goes to the server at once and in order; what could not be
// sent, and what is half written, outlives a reload in the tab's storage.
(() => {
  const {make, count} = Benchloom;
  const at = (id) => document.getElementById(id);
  const RETRY_MS = 2000;
  const QUEUE = "queue", NAME = "name", DRAFTS = "drafts";
  const kept = (name, otherwise) => JSON.parse(sessionStorage.getItem(name)) ?? otherwise;
  const keep = (name, value) => sessionStorage.setItem(name, JSON.stringify(value));
  let name = kept(NAME, "");
  let queue = kept(QUEUE, []);
  let drafts = kept(DRAFTS, {});  // item -> {edited: column -> text, note}
  let items = [];                 // {item, decision, rating, note, edited}, in order
  let place = 0;
  let shown = null;               // the item at `place`: {id, shown: [[column, text, is editable]]}
  let editing = false;
  let sending = false;

  function say(words, bad) {
    at("said").textContent = words;
    at("said").classList.toggle("bad", Boolean(bad));
  }

  async function ask(path, options) {
    const reply = await fetch(path, {cache: "no-store", ...options});
    const body = await reply.json().catch(() => ({error: `the server answered ${reply.status}`}));
    if (!reply.ok) throw Object.assign(new Error(body.error), {status: reply.status});
    return body;
  }

  async function begin(typed) {
    try {
      const found = await ask(`items?reviewer=${encodeURIComponent(typed)}`);
      name = found.reviewer;
      items = found.items;
    } catch (error) {
      return say(error.message, true);
    }
    keep(NAME, name);
    for (const act of queue) if (act.reviewer === name) Object.assign(items.find((own) => own.item === act.item) ?? {}, act);
    at("who").hidden = true;
    at("review").hidden = false;
    at("reviewer").textContent = name;
    say("");
    send();
    const wanted = items.findIndex((own) => own.item === location.hash.slice(1));
    return go(wanted >= 0 ? wanted : findOpen(0));
  }

  // Ask for an item once; the next one is asked for while this one is read.
  const asked = new Map();
  function want(number) {
    if (!asked.has(number)) {
      asked.set(number, ask(`items/${number}`));
      asked.get(number).catch(() => asked.delete(number));
    }
    return asked.get(number);
  }

  // The first undecided item from a place on, round to the beginning; the place itself if all are decided.
  function findOpen(from) {
    for (let step = 0; step < items.length; step++) {
      const candidate = (from + step) % items.length;
      if (!items[candidate].decision) return candidate;
    }
    return Math.min(from, items.length - 1);
  }

  async function go(to) {
    place = Math.max(0, Math.min(to, items.length - 1));
    editing = false;
    shown = null;
    history.replaceState(null, "", `#${encodeURIComponent(items[place].item)}`);
    const wanted = place;
    try {
      const found = await want(wanted);
      if (wanted !== place) return;
      shown = found;
    } catch (error) {
      return say(`${error.message}; is the server still running?`, true);
    }
    const draft = drafts[items[place].item];
    at("note").value = draft?.note ?? items[place].note;
    if (draft?.edited) editing = true;
    draw();
    at("item").focus({preventScroll: true});
    if (place + 1 < items.length) want(place + 1);
  }

  function draw() {
    const own = items[place];
    const fields = shown.shown.map(([column, text, editable]) => {
      const fresh = own.edited[column];
      const value = editing && editable
        ? make("textarea", {rows: "4", "data-column": column, "aria-label": column}, drafts[own.item]?.edited?.[column] ?? fresh ?? text)
        : make("div", null, fresh === undefined ? text : make("span", {class: "was"}, text), fresh === undefined ? null : `\n${fresh}`);
      return make("dl", {class: editable ? "field judged" : "field"}, make("dt", null, column), make("dd", null, value));
    });
    const state = own.decision ? {accept: "accepted", edit: "edited", reject: "rejected"}[own.decision] : "not decided";
    at("item").replaceChildren(
      make("h2", null, `${count(place + 1)} of ${count(items.length)} `, make("span", {class: "tag"}, state),
        make("span", {class: "dim mono"}, ` ${shown.id}`)), ...fields);
    if (editing) {
      const save = make("button", {id: "save"}, "Save edit");
      const leave = make("button", {id: "leave"}, "Cancel edit");
      save.onclick = saveEdit;
      leave.onclick = leaveEdit;
      at("item").append(make("div", {class: "acts"}, save, leave));
    }
    for (const choice of ["accept", "edit", "reject"]) at(choice)?.setAttribute("aria-pressed", String(own.decision === choice));
    for (const button of at("rating").children) button.setAttribute("aria-pressed", String(Number(button.dataset.rating) === own.rating));
    const decided = items.filter((each) => each.decision).length;
    at("progress").value = decided;
    at("count").textContent = `${count(decided)} of ${count(items.length)} decided`;
  }

  function act(changes) {
    const own = Object.assign(items[place], {note: at("note").value}, changes);
    delete drafts[own.item];
    keep(DRAFTS, drafts);
    queue.push({...own, reviewer: name});
    keep(QUEUE, queue);
    say("Saving …");
    editing = false;
    draw();
    send();
  }

  function decide(decision, edited) {
    if (!shown) return;
    act({decision, edited: edited ?? {}});
    const open = findOpen(place + 1);
    if (items[open].decision) say("All items are decided.");
    else go(open);
  }

  async function send() {
    if (sending) return;
    sending = true;
    while (queue.length) {
      try {
        await ask("decisions", {method: "POST", headers: {"Content-Type": "application/json"}, body: JSON.stringify(queue[0])});
        say(queue.length > 1 ? "Saving …" : "Saved.");
      } catch (error) {
        if (error.status !== 400 && error.status !== 413) {
          say(`Not saved yet, trying again: ${error.message}`, true);
          await new Promise((done) => setTimeout(done, RETRY_MS));
          continue;
        }
        // What the server refuses it would refuse again: show the item as the file has it.
        const lost = items.find((own) => own.item === queue[0].item);
        if (lost) Object.assign(lost, {decision: "", edited: {}, rating: null});
        say(`Not saved: ${error.message}`, true);
        if (shown) draw();
      }
      queue.shift();
      keep(QUEUE, queue);
    }
    sending = false;
  }

  function startEdit() {
    if (!shown?.shown.some((field) => field[2])) return;
    editing = true;
    draw();
    at("item").querySelector("textarea").focus();
  }

  function saveEdit() {
    const edited = {};
    for (const box of at("item").querySelectorAll("textarea")) {
      const before = shown.shown.find(([column]) => column === box.dataset.column)[1];
      const text = box.value.trim();
      if (!text) return say(`${box.dataset.column} is empty`, true);
      if (text !== before) edited[box.dataset.column] = text;
    }
    if (!Object.keys(edited).length) return say("The text has not changed. Accept the item, or change the text.", true);
    return decide("edit", edited);
  }

  function leaveEdit() {
    delete drafts[items[place].item]?.edited;
    keep(DRAFTS, drafts);
    editing = false;
    draw();
    at("item").focus({preventScroll: true});
  }

  function rate(number) {
    if (shown) act({rating: items[place].rating === number ? null : number});
  }

  function draft(part) {
    const own = items[place].item;
    drafts[own] = {...drafts[own], ...part};
    keep(DRAFTS, drafts);
  }

  const KEYS = {
    a: () => decide("accept"), e: startEdit, r: () => decide("reject"), n: () => at("note").focus(),
    u: () => shown && (items[place].decision || items[place].rating) && act({decision: "", edited: {}, rating: null}),
    ArrowLeft: () => go(place - 1), ArrowRight: () => go(place + 1),
  };

  addEventListener("keydown", (event) => {
    if (at("review").hidden || event.isComposing) return;
    const typing = event.target.matches?.("textarea, input");
    if (typing) {
      if (event.key === "Escape") {
        if (event.target.id === "note") at("item").focus();
        else leaveEdit();
      } else if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
        if (event.target.id === "note") at("item").focus();
        else saveEdit();
      }
      return;
    }
    if (event.ctrlKey || event.metaKey || event.altKey || event.repeat && !event.key.startsWith("Arrow")) return;
    const run = /^[1-5]$/.test(event.key) ? () => rate(Number(event.key)) : KEYS[event.key];
    if (!run) return;
    event.preventDefault();
    run();
  });
  at("accept").onclick = KEYS.a;
  if (at("edit")) at("edit").onclick = KEYS.e;
  at("reject").onclick = KEYS.r;
  at("undo").onclick = KEYS.u;
  at("back").onclick = KEYS.ArrowLeft;
  at("next").onclick = KEYS.ArrowRight;
  at("rating").onclick = (event) => event.target.dataset.rating && rate(Number(event.target.dataset.rating));
  at("note").addEventListener("input", () => draft({note: at("note").value}));
  at("note").addEventListener("change", () => shown && (items[place].decision || items[place].rating) && act({}));
  at("item").addEventListener("input", (event) => draft({edited: {...drafts[items[place].item]?.edited, [event.target.dataset.column]: event.target.value}}));
  at("who").addEventListener("submit", (event) => {
    event.preventDefault();
    begin(at("name").value);
  });
  addEventListener("beforeunload", (event) => queue.length && event.preventDefault());
  if (name) begin(name);
  else at("name").focus();
})();
