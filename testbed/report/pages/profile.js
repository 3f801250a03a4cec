"use strict";
// A click on a function marks it in every graph, and shows what it called over the whole width of its own. Escape shows all.
const LETTER = 7; // pixels
const boxes = [...document.querySelectorAll(".flame .box")];
const spans = new Map(boxes.map((box) => [box, [parseFloat(box.style.left), parseFloat(box.style.width)]]));

const zoomed = new Map([...document.querySelectorAll(".flame")].map((graph) => [graph, [0, 100]]));

function show(graph) {
  const [left, width] = zoomed.get(graph);
  graph.closest(".card").querySelector(".all").hidden = width === 100;
  const shown = [...graph.querySelectorAll(".box")].filter((box) => {
    const [from, wide] = spans.get(box);
    const [start, end] = [Math.max(from, left), Math.min(from + wide, left + width)];
    box.style.left = `${(100 * (start - left)) / width}%`;
    box.style.width = `${(100 * (end - start)) / width}%`;
    box.hidden = end - start < 0.01; // places are rounded
    return !box.hidden;
  });
  const names = shown.map(({ clientWidth, dataset: { brief, last } }) =>
    [brief, last, ""].find((name, i) => clientWidth >= LETTER * [name.length, 3, 0][i]));
  shown.forEach((box, i) => { box.textContent = names[i]; });
}

function mark(name) {
  for (const each of boxes) each.classList.toggle("seen", each.dataset.name === name);
}

function showAll() {
  mark(null);
  for (const graph of zoomed.keys()) zoomed.set(graph, [0, 100]), show(graph);
}

for (const box of boxes) box.dataset.last = box.textContent;
document.addEventListener("click", ({ target }) => {
  const box = target.closest(".flame .box");
  if (box) {
    mark(box.dataset.name);
    zoomed.set(box.parentElement, spans.get(box));
    show(box.parentElement);
  } else if (target.closest(".all")) {
    showAll();
  }
});
document.addEventListener("keydown", (event) => { if (event.key === "Escape") showAll(); });
window.addEventListener("resize", () => [...zoomed.keys()].forEach(show));
showAll();
document.documentElement.dataset.ready = "yes";
