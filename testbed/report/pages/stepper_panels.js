// The panels below the strips. Each `paint` gets a step and changes only its own element.

function codePanel(model, shown, go) {
  const { facts, col } = model, body = document.getElementById("code");
  const visits = new Uint32Array(facts.code.length), first = new Int32Array(facts.code.length).fill(-1);
  for (let k = model.begin; k <= model.last; k++) { visits[col.line[k]]++; if (first[col.line[k]] < 0) first[col.line[k]] = k; }
  const gravity = facts.outcomes.map((outcome) => GRAVITY[outcome.name] ?? 3);
  const worst = facts.unwinders.map((_, i) => { // per line, over all visits
    const out = new Uint8Array(facts.code.length), outcome = col[`s${i}outcome`];
    for (let k = model.begin; k <= model.last; k++) if (!col.transition[k] && gravity[outcome[k]] > gravity[out[col.line[k]]]) out[col.line[k]] = outcome[k];
    return out;
  });
  const times = (i, at) => { // how many visits of a line have the outcome that stands beside it
    let n = 0;
    for (let k = model.begin; k <= model.last; k++) if (col.line[k] === at && col[`s${i}outcome`][k] === worst[i][at] && !col.transition[k]) n++;
    return n;
  };
  const LONG = 24; // characters
  // Of a name the distance is enough: the function's first line, and the line above the panels, have it whole.
  const shortened = (where) => (where.includes("+0x") ? where.slice(where.lastIndexOf("+0x")) : where);
  let from = -1, to = -1, current = null, key = "";

  function visitNear(line, step) { // the visit of that instruction which is nearest to the step shown
    if (!visits[line]) return -1;
    for (let away = 0; away < facts.steps; away++) {
      if (step + away <= model.last && col.line[step + away] === line) return step + away;
      if (step - away >= model.begin && col.line[step - away] === line) return step - away;
    }
    return -1;
  }
  function build(line, step) {
    const name = facts.code[line][2], chosen = [...shown].sort((a, b) => a - b);
    from = line; to = line;
    while (from > 0 && line - from < 24 && facts.code[from - 1][2] === name) from--;
    while (to + 1 < facts.code.length && to - line < 24 && facts.code[to + 1][2] === name) to++;
    const head = el("tr", {}, el("th", {}), el("th", { scope: "col" }, "address"), el("th", { scope: "col" }, "instruction"),
      ...chosen.map((i) => el("th", { class: "o", scope: "col", title: facts.unwinders[i].name }, String(i + 1))));
    const rows = [];
    for (let at = from; at <= to; at++) {
      const [pc, where, , text, executed, line, source] = facts.code[at];
      if (line) rows.push(el("tr", { class: "source" }, el("td", {}), el("td", { colspan: 2 + chosen.length }, el("b", {}, line), ` ${source}`)));
      rows.push(el("tr", { class: executed ? "" : "never", "data-line": at, "data-pc": pc },
        el("td", { class: "here" }), el("td", { class: "where", title: where }, shortened(where)), el("td", { class: "text" }, text),
        ...chosen.map((i) => {
          if (!executed) return el("td", { class: "o" });
          const outcome = facts.outcomes[worst[i][at]];
          return el("td", { class: "o", title: `${facts.unwinders[i].name}: ${outcome.name} at ${number(times(i, at))} of ${number(visits[at])} visits` },
            el("span", { class: `swatch o-${outcome.name}` }, outcome.name === "exact" ? null : el("b", {}, outcome.mark)));
        })));
    }
    body.classList.toggle("many", chosen.length > 6);
    body.classList.toggle("long", name.length > LONG);
    body.replaceChildren(el("thead", {}, head), el("tbody", {}, rows));
    current = null;
    key = chosen.join();
  }
  body.addEventListener("click", (event) => {
    const row = event.target.closest("tr[data-line]");
    const step = row ? visitNear(Number(row.dataset.line), model.at) : -1;
    if (step >= 0) go(step);
  });
  return (step) => {
    const line = col.line[step];
    if (line < from || line > to || key !== [...shown].sort((a, b) => a - b).join() || (line - from < 2 && from && facts.code[from - 1][2] === facts.code[line][2])) build(line, step);
    if (current) { current.removeAttribute("aria-current"); current.firstChild.textContent = ""; }
    current = body.querySelector(`tr[data-line="${line}"]`);
    current.setAttribute("aria-current", "step");
    current.firstChild.textContent = "▶";
    keepInView(current, body.parentElement);
  };
}

function keepInView(row, box) {
  const top = row.offsetTop, bottom = top + row.offsetHeight;
  if (top < box.scrollTop + row.offsetHeight * 2) box.scrollTop = top - box.clientHeight / 3;
  else if (bottom > box.scrollTop + box.clientHeight - row.offsetHeight) box.scrollTop = bottom - (box.clientHeight * 2) / 3;
}

function stackPanel(model) {
  const { facts } = model, body = document.getElementById("stack");
  const digits = 2 * facts.word, glyph = Object.fromEntries(facts.kinds.map((kind) => [kind.name, kind]));
  const hue = (activation) => (model.col.function[activation] * 137.5) % 360;
  return (step) => {
    const drawn = model.stackAt(step, 160), rows = [];
    if (drawn.elsewhere) rows.push(el("tr", {}, el("td", { colspan: 5, class: "muted" }, "the callers are on another stack")));
    if (drawn.leftOut) rows.push(el("tr", {}, el("td", { colspan: 5, class: "muted" }, `${number(drawn.leftOut)} words further out`)));
    let pending = 0, before = null, spRow = null;
    const flush = () => { if (pending) rows.push(el("tr", { class: "more" }, el("td", { colspan: 5 }, `⋮ ${number(pending)} more like that`))); pending = 0; };
    for (let i = drawn.words.length - 1; i >= 0; i--) {
      const word = drawn.words[i];
      if (before && word.kind === "UNTOUCHED" && before.kind === "UNTOUCHED" && word.owner === before.owner && !word.marks.length) { pending++; continue; }
      flush();
      const edge = !before || before.owner !== word.owner;
      before = word;
      const value = word.kind === "EDGE" ? "" : word.value === null ? "·".repeat(digits) : model.hex(word.value);
      const row = el("tr", { class: `k-${word.kind}${edge ? " frame" : ""}${word.written >= 0 && word.written === step - 1 ? " flash" : ""}`, style: `--hue:${hue(word.owner)}`, title: glyph[word.kind].meaning + (word.written >= 0 ? `; written by step ${word.written}` : "") },
        el("td", { class: "address" }, word.address.toString(16)), el("td", { class: "glyph", "aria-hidden": "true" }, glyph[word.kind].mark),
        el("td", { class: "value" }, value), el("td", { class: "label" }, model.wordLabel(word)),
        el("td", { class: "marks" }, word.marks.map((mark) => el("span", { class: `mark m-${mark.slice(0, 2)}` }, `◂ ${mark}`))));
      if (word.marks.includes("SP")) spRow = row;
      rows.push(row);
    }
    flush();
    body.tBodies[0].replaceChildren(...rows);
    document.getElementById("returns").textContent = drawn.returnAddress && `The return address is ${drawn.returnAddress}.`;
    if (spRow) keepInView(spRow, body.parentElement);
  };
}

function registersPanel(model) {
  const { facts } = model, holder = document.getElementById("registers"), cells = [];
  facts.registers.forEach((register, i) => {
    const value = el("dd", {});
    const pair = el("div", { class: register.role ? `role-${register.role}` : "", title: register.kept ? "callee-saved: a function gives it back unchanged" : "" }, el("dt", {}, register.name), value);
    holder.append(pair);
    cells.push({ pair, value, text: "" });
  });
  let marked = [];
  return (step) => {
    for (const i of marked) cells[i].pair.classList.remove("changed");
    marked = model.changedAt(step);
    for (const i of marked) cells[i].pair.classList.add("changed");
    cells.forEach((cell, i) => {
      const text = model.hex(model.register(i, step));
      if (text !== cell.text) cell.value.textContent = cell.text = text;
    });
  };
}

function rowsPanel(model, shown) {
  const { facts, col } = model, body = document.getElementById("rows");
  const owner = facts.tables.map((table) => facts.unwinders.findIndex((unwinder) => unwinder.name === table.name));
  return (step) => {
    const same = new Map();
    facts.tables.forEach((table, i) => {
      if (!shown.has(owner[i])) return;
      const row = col[`t${i}`][col.line[step]];
      const said = row < 0 ? ["", "", "no row covers this pc"] : table.rows[row];
      const key = said.join("\0");
      if (same.has(key)) same.get(key)[1].push(table.name); else same.set(key, [said, [table.name]]);
    });
    body.tBodies[0].replaceChildren(...[...same.values()].map(([said, names]) =>
      el("tr", {}, el("th", { scope: "row" }, names.join(", ")), ...said.map((text) => el("td", { class: "mono" }, text)))));
  };
}

function named(frame) { // inlined calls above the frame that they have no frame of their own in
  return el("span", {}, frame.inlined.map((name) => el("div", { class: "inlined" }, `${name} [inlined]`)), frame.name);
}
