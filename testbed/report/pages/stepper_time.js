// The strips over all steps: the truth's call depth as a flame chart, and each unwinder's outcome.

const ROW = 17;
// Several steps in one pixel are a column of their shares: exact at the bottom, the gravest on top.
const GRAVITY = { exact: 0, refused: 1, stopped: 2, transition: 0.5, ended_early: 4, skipped: 5, wrong_register: 6, phantom: 7, wrong: 8, crashed: 3, hung: 3 };

function timeOf(model, shown, go) {
  const { facts, col } = model;
  const holder = document.getElementById("strips");
  const cursor = document.getElementById("cursor");
  const flame = document.getElementById("flame");
  const view = { from: model.begin, to: model.last + 1 };
  const names = facts.outcomes.map((outcome) => outcome.name).concat("transition");
  const TRANSITION = names.length - 1;
  const gravity = names.map((name) => GRAVITY[name] ?? 3);
  const byGravity = names.map((_, kind) => kind).sort((a, b) => gravity[a] - gravity[b]);
  const canvases = [], rows = [];
  let at = model.begin, focused = -1;

  // One unwinder alone below the strips; the same one again: all of them.
  function focus(unwinder, only = unwinder === focused ? -1 : unwinder) {
    focused = only;
    rows.forEach((row, i) => {
      const seen = focused < 0 || i === focused;
      seen ? shown.add(i) : shown.delete(i);
      row.classList.toggle("off", !seen);
      row.querySelector("button").setAttribute("aria-pressed", i === focused);
    });
    say();
    go(at, true);
  }

  // What the focused unwinder sees, or, where none is, the first that goes wrong.
  const sentence = document.getElementById("sentence");
  function say() {
    const unwinder = told();
    sentence.replaceChildren(...(unwinder ? [el("b", {}, unwinder.name), " ", ...worded(unwinder.sentence), "."] : []));
  }

  // Who states no assumption has lies and failures, of which nothing is to be explained.
  const beside = (counts, i) => ["luck", "open", "unexplained", "undecided"].filter((word) => counts[word] && (word !== "unexplained" || col[`s${i}unexplained`].includes(1)))
    .map((word) => ` ${number(counts[word])} ${word}`).join("");
  facts.unwinders.forEach((unwinder, i) => {
    const canvas = el("canvas", { role: "img", "aria-label": `${unwinder.name}: ${unwinder.share} ${facts.share_means}` });
    const label = el("button", {
      class: "unwinder", type: "button", "aria-pressed": "false", title: `${unwinder.summary}. Click: only this one below; once more: all.`,
      onclick: () => focus(i),
    }, el("span", { class: "n" }, String(i + 1)), el("span", { class: "name" }, unwinder.name),
      el("span", { class: "share" }, unwinder.share, el("small", {}, beside(unwinder.counts, i))));
    const row = el("div", { class: "row" }, label, el("div", { class: "lane" }, canvas));
    holder.append(row);
    rows.push(row);
    canvases.push(canvas);
  });

  const stepAtX = (event, canvas) => {
    const box = canvas.getBoundingClientRect();
    const part = Math.min(Math.max((event.clientX - box.left) / box.width, 0), 0.999999);
    return Math.floor(view.from + part * (view.to - view.from));
  };
  const tip = document.getElementById("tip");
  for (const canvas of [flame, ...canvases]) {
    canvas.addEventListener("pointerdown", (event) => { canvas.setPointerCapture(event.pointerId); go(stepAtX(event, canvas)); });
    canvas.addEventListener("pointermove", (event) => {
      const step = stepAtX(event, canvas);
      if (event.buttons & 1) go(step);
      tip.textContent = `step ${number(model.numberOf(step))}  ${facts.code[col.line[step]][1]}` + (canvas === flame ? "" : `  ${names[col[`s${canvases.indexOf(canvas)}outcome`][step]]}`);
    });
    canvas.addEventListener("pointerleave", () => { tip.textContent = ""; });
    canvas.addEventListener("wheel", (event) => {
      if (!event.ctrlKey && !event.shiftKey) return; // a plain wheel scrolls the page
      event.preventDefault();
      zoom(event.deltaY < 0 ? 0.5 : 2, stepAtX(event, canvas));
    }, { passive: false });
  }

  function zoom(factor, about = at) {
    const width = Math.min(facts.steps, Math.max(Math.min(16, facts.steps), Math.round((view.to - view.from) * factor)));
    const part = (about - view.from) / (view.to - view.from);
    view.from = Math.min(Math.max(model.begin, Math.round(about - part * width)), model.last + 1 - width);
    view.to = view.from + width;
    draw();
  }

  function drawStrip(canvas, unwinder, colours, patterns, scale) {
    const { context, width, height } = sized(canvas, ROW);
    const outcome = col[`s${unwinder}outcome`], unexplained = col[`s${unwinder}unexplained`], span = view.to - view.from;
    const pixels = Math.min(width, span);
    if (span > pixels) { drawShares(context, unwinder, width, height, colours, scale); return; }
    let start = 0, kind = -1, bad = 0;
    const flush = (end) => {
      if (kind < 0) return;
      const x = Math.round((start * width) / pixels), w = Math.max(1, Math.round((end * width) / pixels) - x);
      context.fillStyle = colours[kind];
      context.fillRect(x, 0, w, height);
      if (patterns[kind]) { context.fillStyle = patterns[kind]; context.fillRect(x, 0, w, height); }
      if (bad) { context.fillStyle = style("wrong"); context.fillRect(x, height - 4 * scale, w, 4 * scale); }
      if (kind && w > 13 * scale) {
        const mark = kind === TRANSITION ? "~" : facts.outcomes[kind].mark;
        context.font = `700 ${11 * scale}px ${style("mono")}`;
        context.textAlign = "center";
        context.textBaseline = "middle";
        context.fillStyle = colours[kind];
        context.fillRect(x + w / 2 - 5.5 * scale, 2 * scale, 11 * scale, height - 4 * scale);
        context.fillStyle = kind === 7 ? style("on-wrong") : style("ink");
        context.fillText(bad ? "?" : mark, x + w / 2, height / 2 + scale / 2);
      }
    };
    for (let p = 0; p < pixels; p++) {
      const k = view.from + p, now = col.transition[k] ? TRANSITION : outcome[k];
      if (now !== kind || unexplained[k] !== bad) { flush(p); start = p; kind = now; bad = unexplained[k]; }
    }
    flush(pixels);
  }

  // More steps than pixels: of each pixel's steps the share of each outcome, so that the area is the share of the run.
  function drawShares(context, unwinder, width, height, colours, scale) {
    const outcome = col[`s${unwinder}outcome`], unexplained = col[`s${unwinder}unexplained`], span = view.to - view.from;
    const counts = new Uint32Array(names.length);
    for (let p = 0; p < width; p++) {
      const low = view.from + Math.floor((p * span) / width), high = view.from + Math.floor(((p + 1) * span) / width);
      counts.fill(0);
      let bad = 0;
      for (let k = low; k < high; k++) { counts[col.transition[k] ? TRANSITION : outcome[k]]++; bad |= unexplained[k]; }
      let done = 0;
      for (const kind of byGravity) {
        if (!counts[kind]) continue;
        const top = height * (1 - (done + counts[kind]) / (high - low)), bottom = height * (1 - done / (high - low));
        context.fillStyle = colours[kind];
        context.fillRect(p, top, 1, bottom - top);
        done += counts[kind];
      }
      if (bad) { context.fillStyle = style("wrong"); context.fillRect(p, height - 4 * scale, 1, 4 * scale); }
    }
  }

  // The words of this run, beside the strips.
  const occur = new Set();
  let open = false;  // does anything lack an explanation?
  facts.unwinders.forEach((_, i) => {
    const column = col[`s${i}outcome`], unexplained = col[`s${i}unexplained`];
    for (let k = model.begin; k <= model.last; k++) { occur.add(col.transition[k] ? TRANSITION : column[k]); open ||= Boolean(unexplained[k]); }
  });
  const swatches = byGravity.filter((kind) => occur.has(kind)).map((kind) => kind === TRANSITION ? ["o-transition", "~ not judged", ""]
    : [`o-${names[kind]}`, `${facts.outcomes[kind].mark} ${names[kind].replace("_", " ")}`, facts.outcomes[kind].family]);
  if (open) swatches.push(["unexplained", "? unexplained", ""]);
  document.getElementById("words").replaceChildren(...swatches.map(([look, words, family], i) =>
    el("span", {}, family && family !== swatches[i - 1]?.[2] ? `${family}: ` : "", el("span", { class: `swatch ${look}` }), ` ${words}`)), el("span", { class: "means" }, `%: ${facts.share_means}`));

  // Where a page opens: the step that the sentence is about; where it is right everywhere, in the program's own code.
  function told() {
    return facts.unwinders[focused] ?? facts.unwinders.find((unwinder) => unwinder.at >= 0) ?? facts.unwinders[0];
  }
  function toldStep() {
    const at = told()?.at ?? -1;
    return at < 0 ? col.own.indexOf(1) : at;
  }

  function hue(activation) {
    return (col.function[activation] * 137.5) % 360;
  }

  function drawFlame() {
    const rowHeight = Math.max(2, Math.min(17, Math.floor(150 / (model.deepest + 1))));
    const rows = Math.min(model.deepest + 1, 120);
    const { context, width, height, scale } = sized(flame, rows * rowHeight + 1);
    const dark = matchMedia("(prefers-color-scheme: dark)").matches, h = rowHeight * scale;
    const open = new Int32Array(rows).fill(-1), since = new Float64Array(rows), now = new Int32Array(rows);
    context.clearRect(0, 0, width, height);
    context.font = `${Math.min(11, rowHeight - 4) * scale}px ${style("mono")}`;
    context.textBaseline = "middle";
    const flush = (level, x) => {
      const activation = open[level], left = since[level], w = x - left;
      if (activation < 0 || w <= 0) return;
      context.fillStyle = `hsl(${hue(activation)} ${dark ? "38% 32%" : "62% 84%"})`;
      context.fillRect(left, level * h, Math.max(w - (w > 4 ? scale : 0), 0.5), h - (rowHeight > 4 ? scale : 0));
      const name = model.functionOf(activation);
      if (rowHeight >= 12 && w > (name.length * 7 + 6) * scale) {
        context.fillStyle = style("ink");
        context.fillText(name, left + 4 * scale, level * h + h / 2);
      }
    };
    const span = view.to - view.from, pixels = Math.min(width, span);
    for (let p = 0; p <= pixels; p++) {
      const x = (p * width) / pixels;
      now.fill(-1);
      if (p < pixels) {
        for (let node = col.node[view.from + Math.floor(((p + 0.5) * span) / pixels)]; node >= 0; node = col.parent[node]) {
          if (model.depth[node] < rows) now[model.depth[node]] = node;
        }
      }
      for (let level = 0; level < rows; level++) {
        if (now[level] === open[level]) continue;
        flush(level, x);
        open[level] = now[level];
        since[level] = x;
      }
    }
  }

  function draw() {
    const scale = window.devicePixelRatio || 1, context = flame.getContext("2d");
    const colours = names.map((name) => style(name)), patterns = names.map((name) => patternOf(context, name, scale));
    drawFlame();
    canvases.forEach((canvas, i) => drawStrip(canvas, i, colours, patterns, scale));
    move(at);
  }

  function move(step) {
    at = step;
    const span = view.to - view.from;
    if (step < view.from || step >= view.to) {
      view.from = Math.min(Math.max(model.begin, Math.round(step - span / 3)), model.last + 1 - span);
      view.to = view.from + span;
      draw();
      return;
    }
    const box = flame.getBoundingClientRect(), outer = cursor.parentElement.getBoundingClientRect();
    cursor.style.left = `${box.left - outer.left + ((step - view.from) / span) * box.width}px`;
    cursor.style.width = `${Math.max(box.width / span, 2)}px`;
  }

  const all = () => { view.from = model.begin; view.to = model.last + 1; draw(); };
  say();
  return { draw, move, zoom, all, view, toldStep, focus, focusedName: () => (focused < 0 ? "" : facts.unwinders[focused].name) };
}
