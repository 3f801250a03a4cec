// Start, moves, keys, the deep link. One function changes the step: go.

async function start() {
  const [facts, col] = await readBlock("data");
  const model = modelOf(facts, col);
  const shown = new Set(facts.unwinders.keys());
  model.at = model.begin;
  const slider = document.getElementById("slider"), field = document.getElementById("step");
  slider.min = field.min = model.numberOf(model.begin);
  slider.max = field.max = model.numberOf(model.last);
  const time = timeOf(model, shown, go);
  const panels = [codePanel(model, shown, go), stackPanel(model), registersPanel(model), rowsPanel(model, shown), callersPanel(model, shown), seenPanel(model, shown)];
  const title = document.getElementById("where"), said = document.getElementById("site-words"), live = document.getElementById("live");
  let linked, spoken;

  function go(step, force = false) {
    if (!Number.isInteger(step)) return;
    step = Math.min(Math.max(step, model.begin), model.last);
    if (step === model.at && !force) return;
    model.at = step;
    slider.value = field.value = model.numberOf(step);
    const [, where, , text] = facts.code[col.line[step]];
    slider.setAttribute("aria-valuetext", `step ${model.numberOf(step)}, ${where}, ${text}`);
    title.replaceChildren(el("span", { class: "mono" }, where), " ", el("code", {}, text));
    const kind = col.kind[step], words = facts.words.filter((_, i) => (col[`words${i >> 5}`][kind] >>> (i % 32)) & 1);
    said.replaceChildren(...model.toldAt(step).map((told) => el("li", {}, told)), ...words.map((word) => el("li", { title: word.meaning }, word.name)));
    for (const paint of panels) paint(step);
    time.move(step);
    // Browsers limit how often the address may change, and a screen reader needs time to speak.
    clearTimeout(linked);
    linked = setTimeout(() => history.replaceState(null, "", place()), 250);
    clearTimeout(spoken);
    spoken = setTimeout(() => { live.textContent = spokenOf(step, where, text); }, 400);
  }

  function spokenOf(step, where, text) {
    const wrong = [...shown].filter((i) => col[`s${i}outcome`][step]).map((i) => `${facts.unwinders[i].name} ${facts.outcomes[col[`s${i}outcome`][step]].name}`);
    return `Step ${model.numberOf(step)}, ${where}, ${text}. ${wrong.length ? wrong.join(", ") : "All exact"}.`;
  }

  const move = (name) => go(model.moves[name](model.at, shown));
  for (const button of document.querySelectorAll("button[data-move]")) button.addEventListener("click", () => move(button.dataset.move));
  slider.addEventListener("input", () => go(model.rowOf(Number(slider.value))));
  field.addEventListener("change", () => go(model.rowOf(Math.round(Number(field.value)))));
  document.getElementById("in").addEventListener("click", () => time.zoom(0.5));
  document.getElementById("out").addEventListener("click", () => time.zoom(2));
  document.getElementById("all").addEventListener("click", () => time.all());
  const only = document.getElementById("only");
  only.addEventListener("input", () => {
    const wanted = only.value.trim().toLowerCase();
    document.querySelectorAll("#strips .row").forEach((row, i) => {
      const fits = facts.unwinders[i].name.includes(wanted);
      row.hidden = !fits;
      if (fits) shown.add(i); else shown.delete(i);
      row.classList.toggle("off", !fits);
    });
    time.draw();
    go(model.at, true);
  });
  const keys = { ArrowRight: "NEXT", ArrowLeft: "BACK", Home: "FIRST", End: "LAST" };
  for (const [name, [key]] of Object.entries(facts.moves)) keys[key] = name;
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches("input:not([type=range]), select, textarea")) return;
    if (event.key === "+" || event.key === "-") time.zoom(event.key === "+" ? 0.5 : 2);
    else if (keys[event.key]) move(keys[event.key]);
    else return;
    event.preventDefault();
  });
  const place = () => `#step=${model.numberOf(model.at)}${time.focusedName() && `&focus=${time.focusedName()}`}`;
  const fromLink = () => {
    const match = /step=(\d+)/.exec(location.hash), wanted = /focus=([^&]+)/.exec(location.hash);
    const named = wanted ? facts.unwinders.findIndex((unwinder) => unwinder.name === decodeURIComponent(wanted[1])) : -1;
    if (named >= 0) time.focus(named, named);
    const asked = match ? Number(match[1]) : facts.opens ?? null;
    go(asked === null ? time.toldStep() : model.rowOf(asked), true);
  };
  addEventListener("hashchange", fromLink);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => time.draw());
  let resized;
  addEventListener("resize", () => { clearTimeout(resized); resized = setTimeout(() => time.draw(), 100); });
  time.draw();
  fromLink();
  document.documentElement.dataset.ready = "yes";
  window.stepper = { go, model, at: () => model.at, place, shown }; // for consoles, tests and the editor
}

start().catch((error) => {
  document.getElementById("where").textContent = `This page could not be read: ${error}. It needs a browser of 2023 or later.`;
  throw error;
});
