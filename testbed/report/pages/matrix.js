// Filter the matrix, add up what is shown, open a cell's first difference. The filter is in the address.

async function start() {
  const [data] = await readBlock("data");
  const form = document.getElementById("filter"), table = document.getElementById("matrix");
  const rows = [...table.tBodies[0].rows], unwinders = data.unwinders;
  const names = { program: rows.map((row) => row.dataset.program), recipe: rows.map((row) => row.dataset.recipe) };
  const keys = [...document.querySelectorAll("[id^=total-]")].map((total) => total.id.slice("total-".length));

  // A pattern is a name, a part of one, or a glob where it has a star.
  const fits = (pattern, names) => {
    const wanted = pattern.trim().toLowerCase();
    if (names.includes(wanted)) return (name) => name === wanted;
    if (!wanted.includes("*")) return (name) => name.toLowerCase().includes(wanted);
    const expression = new RegExp(`^${wanted.replace(/[.+?^${}()|[\]\\]/g, "\\$&").replace(/\*/g, ".*")}$`);
    return (name) => expression.test(name.toLowerCase());
  };
  const has = (cell, only) => !only || (only === "differs" ? cell.exact < cell.sites - cell.transition - cell.undecided : only in cell.outcomes ? cell.outcomes[only] > 0 : cell[only] > 0);

  function apply() {
    const wanted = Object.fromEntries(new FormData(form)), sums = Object.fromEntries([...keys, "sites"].map((key) => [key, 0]));
    const program = fits(wanted.program, names.program), recipe = fits(wanted.recipe, names.recipe), unwinder = fits(wanted.unwinder, unwinders);
    const column = unwinders.map(unwinder);
    let cells = 0, units = 0;
    table.tHead.rows[0].querySelectorAll(".s").forEach((head, i) => { head.hidden = !column[i]; });
    for (const row of rows) {
      const here = program(row.dataset.program) && (!wanted.arch || row.dataset.arch === wanted.arch) && recipe(row.dataset.recipe);
      let any = false;
      if (here) row.querySelectorAll(".s").forEach((td, i) => {
        td.hidden = !column[i];
        const button = td.firstElementChild, cell = button && data.cells[button.dataset.cell];
        const shows = Boolean(cell) && has(cell, wanted.only);
        if (button) button.style.visibility = shows ? "" : "hidden";
        if (!shows || !column[i]) return;
        any = true;
        cells++;
        for (const key of [...keys, "sites"]) sums[key] += cell[key];
      });
      row.hidden = !any;
      if (any) units++;
    }
    for (const key of keys) {
      document.getElementById(`total-${key}`).textContent = number(sums[key]);
      document.getElementById(`share-${key}`).textContent = sums.sites ? `${share(sums[key], sums.sites)} of ${number(sums.sites)} sites` : "";
    }
    document.getElementById("count").textContent = `${number(cells)} cells of ${number(units)} units`;
    const link = new URLSearchParams(Object.entries(wanted).filter(([, value]) => value)).toString();
    clearTimeout(apply.linked);
    apply.linked = setTimeout(() => history.replaceState(null, "", link ? `#${link}` : "#"), 250);
  }

  function open(cell) {
    const body = document.getElementById("difference-body"), bar = document.getElementById("difference-bar");
    document.getElementById("difference-title").textContent = `${cell.program} · ${cell.arch} · ${cell.recipe} · ${cell.unwinder}`;
    const parts = Object.entries(cell.outcomes);
    bar.replaceChildren(...parts.map(([name, count]) => el("span", { class: `swatch o-${name}`, style: `flex: ${count}`, title: `${name} ${count}` })));
    bar.setAttribute("aria-label", parts.map(([name, count]) => `${name} ${count}`).join(", "));
    const first = cell.first_unexplained ?? cell.first_difference;
    body.replaceChildren(
      el("ul", { class: "counts" }, parts.map(([name, count]) => el("li", { class: `chip o-${name}` }, `${name} ${number(count)}`)),
        ...["foretold", "luck", "open", "unexplained", "lying", "transition", "undecided"].filter((key) => cell[key]).map((key) => el("li", { class: "chip" }, `${key} ${number(cell[key])}`))),
      first ? el("p", {}, el("b", {}, cell.first_unexplained ? "First unexplained difference: " : "First difference: "), first.sentence) : el("p", {}, "Exact at every site."),
      cell.page ? el("p", {}, el("a", { class: "to-stepper", href: cell.page }, "Step through it, from there")) : null,
      el("p", { class: "muted" }, cell.page ? "Or write that page anew:" : "See it step by step:"),
      el("pre", {}, `testbed run ${cell.program} --arch ${cell.arch} --recipe ${cell.recipe} -o page.html` + (first ? `\n# then open page.html#step=${first.step}&focus=${cell.unwinder}` : "")));
    document.getElementById("difference").showModal();
  }

  document.querySelector(".page").addEventListener("click", (event) => {
    const cell = event.target.closest("[data-cell]"), hot = event.target.closest("#heat button"), program = event.target.closest("button[data-program]");
    if (cell && !event.ctrlKey && !event.metaKey && !event.shiftKey) { event.preventDefault(); open(data.cells[cell.dataset.cell]); }
    if (hot) only({ unwinder: hot.dataset.unwinder, arch: hot.dataset.arch });
    if (program) only({ program: program.dataset.program });
  });
  function only(wanted) { // these cells alone, and there
    for (const field of form.elements) if (field.name) field.value = wanted[field.name] ?? "";
    apply();
    form.scrollIntoView({ block: "start" });
  }
  const dialog = document.getElementById("difference");
  dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });
  form.addEventListener("input", apply);
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("reset", () => setTimeout(apply));
  const fromLink = () => {
    const link = new URLSearchParams(location.hash.slice(1));
    for (const field of form.elements) if (field.name) field.value = link.get(field.name) ?? "";
    apply();
  };
  addEventListener("hashchange", fromLink);
  fromLink();
  document.documentElement.dataset.ready = "yes";
}

start();
