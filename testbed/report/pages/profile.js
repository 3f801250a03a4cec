"use strict";
// A click on a function marks it in every graph.
document.addEventListener("click", (event) => {
  const box = event.target.closest(".flame .box");
  const name = box && !box.classList.contains("seen") ? box.dataset.name : null;
  for (const each of document.querySelectorAll(".flame .box")) each.classList.toggle("seen", each.dataset.name === name);
});
