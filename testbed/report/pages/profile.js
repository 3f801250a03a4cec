"use strict";
// A click on a function shows what it called over the whole width, in every graph: where the same functions called it,
// or else as many of the outer ones as are there. Escape shows all. What is looked for is marked, with its share of samples.
const LETTER = 7; // pixels
const graphs = [...document.querySelectorAll(".flame")].map((graph) => {
  const boxes = [...graph.querySelectorAll(".box")], widest = new Map(), outer = [];
  for (const box of boxes) {
    outer.length = Number(box.dataset.row);
    outer.push(box.dataset.name);
    box.stack = outer.map((_, i) => outer.slice(0, i + 1).join("\n")).reverse();
    box.span = [parseFloat(box.style.left), parseFloat(box.style.width)];
    box.last = box.textContent;
    if (!(widest.get(box.stack[0])?.span[1] > box.span[1])) widest.set(box.stack[0], box);
  }
  return { boxes, widest, found: graph.closest("section").querySelector(".found") };
});
const briefs = new Map(graphs.flatMap(({ boxes }) => boxes.map(({ dataset: { name, brief } }) => [name, brief])));
const all = document.querySelector(".all");

function show({ boxes }, [left, width]) {
  const shown = boxes.filter((box) => {
    const [from, wide] = box.span;
    const [start, end] = [Math.max(from, left), Math.min(from + wide, left + width)];
    box.style.left = `${(100 * (start - left)) / width}%`;
    box.style.width = `${(100 * (end - start)) / width}%`;
    box.hidden = end - start < 0.01; // places are rounded
    return !box.hidden;
  });
  const names = shown.map(({ clientWidth, last, dataset: { brief } }) =>
    [brief, last, ""].find((name, i) => clientWidth >= LETTER * [name.length, 3, 0][i]));
  shown.forEach((box, i) => { box.textContent = names[i]; });
}

let chosen = null;
function zoom(box) {
  chosen = box;
  document.body.classList.remove("sought");
  find(box?.dataset.brief, (name) => name === box.dataset.name);
  all.hidden = !box;
  for (const graph of graphs) {
    const outer = box?.stack.find((stack) => graph.widest.has(stack));
    const there = graph.boxes.includes(box) ? box : graph.widest.get(outer);
    show(graph, there ? there.span : [0, 100]);
  }
}

function find(called, fits) { // mark functions, and say on how many of the samples each graph has one
  for (const { boxes, found } of graphs) {
    let share = 0, seen = 0;
    for (const box of boxes) {
      const [name, ...outer] = box.stack[0].split("\n").reverse(), here = Boolean(called) && fits(name);
      box.classList.toggle("seen", here);
      seen += here;
      if (here && !outer.some(fits) && !box.classList.contains("lost")) share += box.span[1];
    }
    const told = !seen ? "nowhere" : share ? `on ${share.toFixed(1)} %` : "only as a caller that was lost";
    found.textContent = called ? `; ${called}: ${told}` : "";
  }
}
document.querySelector(".find").addEventListener("input", ({ target }) => {
  const wanted = target.value.toLowerCase(), shown = (name) => briefs.get(name) ?? name;
  document.body.classList.toggle("sought", Boolean(wanted));
  find(target.value, (name) => shown(name).toLowerCase().includes(wanted));
});
document.addEventListener("click", ({ target }) => {
  const box = target.closest(".flame .box");
  if (box) zoom(box);
  else if (target.closest(".all")) zoom(null);
});
document.addEventListener("keydown", (event) => { if (event.key === "Escape") zoom(null); });
window.addEventListener("resize", () => zoom(chosen));
zoom(null);
document.documentElement.dataset.ready = "yes";
