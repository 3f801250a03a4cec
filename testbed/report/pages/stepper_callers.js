// Who called, each different answer beside the truth; and what each unwinder sees of the whole run.

const MOST_ROWS = 48;

function callersPanel(model, shown) {
  const { facts, col } = model, table = document.getElementById("callers"), why = document.getElementById("why");

  function answersAt(step) { // equal answers are one column
    const groups = new Map();
    for (const i of [...shown].sort((a, b) => a - b)) {
      const answer = model.alignedAt(i, step), outcome = facts.outcomes[col[`s${i}outcome`][step]], depth = col[`s${i}depth`][step];
      const key = [outcome.name, depth, answer.reason, ...model.saidAt(i, step).frames.map((frame) => frame.pc)].join();
      if (groups.has(key)) groups.get(key).members.push(i);
      else groups.set(key, { ...answer, members: [i], outcome, depth });
    }
    return [...groups.values()];
  }

  // One row: the levels `from` to `to` of the truth, which look alike in every column.
  function levelRow(truth, columns, from, to) {
    const times = to - from;
    return el("tr", {}, el("th", { scope: "row" }, from >= truth.length ? "" : times > 1 ? `${from}–${to - 1}` : String(from)),
      el("td", { class: "truth" }, from < truth.length ? counted(truth[from], times) : el("span", { class: "end" }, "root")),
      ...columns.map(({ at, end, reason, outcome, depth }) => {
        if (from < end) {
          if (at[from] === null) return el("td", { class: "gap", title: "a true caller that this answer lacks" }, "[", counted(truth[from], times), "]");
          const register = outcome.name === "wrong_register" && from === depth;
          return el("td", register ? { class: "register", title: "the pc is right; a register, or the CFA, is not" } : {}, counted(at[from], times), register ? " · register" : null);
        }
        if (from > end) return el("td", {});
        const wrong = !reason && end !== truth.length;
        return el("td", { class: wrong ? "differs" : "" }, el("span", { class: "end", title: reason }, reason ? `stops: ${reason.split(":")[0]}` : wrong ? "≠ root" : "root"));
      }));
  }

  // Frames that never were stand between two levels, repeats folded.
  function extraRows(columns, level) {
    const lists = columns.map(({ extra }) => foldedFrames(extra.get(level) ?? []));
    return Array.from({ length: Math.max(0, ...lists.map((list) => list.length)) }, (_, row) => el("tr", {}, el("th", {}), el("td", {}),
      ...lists.map((list) => (list[row] ? el("td", { class: "differs", title: "a frame that never was" }, "≠ ", counted(list[row].frame, list[row].times)) : el("td", {})))));
  }

  function rowsOf(truth, columns) {
    const alike = (a, b) => truth[a].pc === truth[b].pc && columns.every(({ at, extra, end, outcome, depth }) => !extra.has(b) && end !== b
      && Boolean(at[a]) === Boolean(at[b]) && (outcome.name !== "wrong_register" || (depth !== a && depth !== b)));
    const rows = [];
    for (let level = 0; level <= truth.length;) {
      let to = level + 1;
      while (level && to < truth.length && alike(level, to)) to++;
      rows.push(...extraRows(columns, level), levelRow(truth, columns, level, to));
      level = to;
    }
    if (rows.length <= MOST_ROWS) return rows;
    const more = el("tr", {}, el("td", { colspan: columns.length + 2, class: "muted" }, `⋮ ${number(rows.length - MOST_ROWS)} more rows`));
    return [...rows.slice(0, MOST_ROWS / 2), more, ...rows.slice(-MOST_ROWS / 2)];
  }

  return (step) => {
    const truth = model.truthAt(step), columns = answersAt(step);
    const head = el("tr", {}, el("th", { scope: "col" }, "#"), el("th", { scope: "col", class: "truth" }, "truth"),
      ...columns.map(({ members, outcome }) => el("th", { scope: "col" },
        el("div", {}, el("span", { class: `chip o-${outcome.name}${col[`s${members[0]}unexplained`][step] ? " unexplained" : ""}` }, outcome.lying ? outcome.name.toUpperCase() : outcome.name)),
        el("div", { class: "who" }, members.map((i) => facts.unwinders[i].name).join(", ")))));
    table.replaceChildren(el("thead", {}, head), el("tbody", {}, rowsOf(truth, columns)));
    const reasons = new Map(); // equal answers may have different reasons
    for (const i of columns.filter(({ outcome }) => outcome.name !== "exact").flatMap(({ members }) => members)) {
      const said = [col[`s${i}note`][col.kind[step]], col[`s${i}why`][col.kind[step]]].map((note) => facts.notes[note]).filter(Boolean).join("; ");
      const heard = [...model.toldAt(step), said].join(" ");
      reasons.set(heard, [...(reasons.get(heard) ?? []), facts.unwinders[i].name]);
    }
    why.replaceChildren(...[...reasons].map(([said, names]) => el("p", {}, el("b", {}, names.join(", ")), ": ", ...worded(said))));
  };
}

function foldedFrames(frames) {
  const out = [];
  for (const frame of frames) {
    if (out.length && out.at(-1).frame.pc === frame.pc) out.at(-1).times++; else out.push({ frame, times: 1 });
  }
  return out;
}

function counted(frame, times) {
  return times > 1 ? el("span", {}, named(frame), ` ×${number(times)}`) : named(frame);
}

// A sentence for each unwinder, and its outcomes by phase of the activation; equal ones share a row.
function seenPanel(model, shown) {
  const { facts } = model, table = document.getElementById("seen");
  const phases = facts.phases.map((phase, p) => ({ ...phase, at: p })).filter(({ at }) => facts.unwinders.some((unwinder) => unwinder.phases[at][0]));
  let key = null;
  return () => {
    const now = [...shown].sort((a, b) => a - b).join();
    if (now === key) return;
    key = now;
    const groups = new Map();
    for (const i of [...shown].sort((a, b) => a - b)) {
      const unwinder = facts.unwinders[i], same = JSON.stringify([unwinder.sentence, unwinder.phases]);
      if (groups.has(same)) groups.get(same).names.push(unwinder.name); else groups.set(same, { unwinder, names: [unwinder.name] });
    }
    const head = el("tr", {}, el("th", { scope: "col" }, "unwinder"), el("th", { scope: "col" }, "what it sees"),
      ...phases.map(({ name, meaning }) => el("th", { scope: "col", class: "phase", title: meaning }, name)));
    table.replaceChildren(el("thead", {}, head), el("tbody", {}, [...groups.values()].map(({ unwinder, names }) => el("tr", {},
      el("th", { scope: "row" }, names.join(", ")), el("td", { class: "sentence" }, worded(unwinder.sentence)),
      ...phases.map(({ at, name }) => phaseCell(unwinder.phases[at], name))))));
  };
}

function phaseCell([sites, exact, stopped, lying], name) {
  if (!sites) return el("td", { class: "phase", "data-phase": name }, "–");
  const part = (count, tone) => (count ? el("i", { style: `flex:${count};background:var(--${tone})` }) : null);
  return el("td", { class: "phase", "data-phase": name, title: `${name}: of ${number(sites)} steps ${number(exact)} exact, ${number(stopped)} honest stops, ${number(lying)} lies` },
    el("span", {}, `${number(exact)}/${number(sites)}`), el("span", { class: "parts", "aria-hidden": "true" }, part(exact, "exact"), part(stopped, "stopped"), part(lying, "skipped")));
}

function worded(sentence) { // `instructions` as code
  return sentence.split("`").map((part, i) => (i % 2 ? el("code", {}, part) : part));
}
