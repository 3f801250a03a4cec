// The suspects of a sweep: those that hold every word of the search, the first of them shown.

const MOST = 300;

async function sweep() {
  const [facts] = await readBlock("data");
  const all = facts.suspects.map((row) => [row, row.join(" ").toLowerCase()]);
  const search = document.getElementById("search");

  function show() {
    const words = search.value.toLowerCase().split(/\s+/).filter((word) => word);
    const found = all.filter(([, text]) => words.every((word) => text.includes(word)));
    document.getElementById("suspects").replaceChildren(...found.slice(0, MOST).map(([row]) => {
      const [file, named, cause, said, executed, severity, packaged, producer] = row;
      return el("tr", {},
        el("td", {}, file, el("br"), el("code", {}, named), el("div", {class: "muted"}, packaged),
          el("div", {class: "muted"}, producer)),
        el("td", {}, el("span", {class: "cause"}, cause), el("br"), said,
          executed ? el("div", {}, `executed, ${severity ? `${severity}: ` : ""}${executed}`) : ""));
    }));
    document.getElementById("found").textContent =
      `${found.length} of ${all.length}${found.length > MOST ? `, the first ${MOST} shown` : ""}`;
  }

  search.addEventListener("input", show);
  for (const button of document.querySelectorAll("button.seek")) {
    button.addEventListener("click", () => { search.value = button.textContent; show(); search.scrollIntoView(); });
  }
  show();
}

sweep();
