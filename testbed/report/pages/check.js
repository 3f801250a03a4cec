// Filter findings and functions; open the finding that the address names. The filter is in the address.

const form = document.getElementById("filter");
const findings = [...document.querySelectorAll(".finding")], functions = [...document.querySelectorAll(".functions tbody tr")];

// A pattern is a part of the name, or a glob where it has a star.
function fits(pattern) {
  const wanted = pattern.trim().toLowerCase();
  if (!wanted.includes("*")) return (name) => name.toLowerCase().includes(wanted);
  const expression = new RegExp(`^${wanted.replace(/[.+?^${}()|[\]\\]/g, "\\$&").replace(/\*/g, ".*")}$`);
  return (name) => expression.test(name.toLowerCase());
}

const count = (value, noun) => `${number(value)} ${noun}${value === 1 ? "" : "s"}`;

function apply() {
  const wanted = Object.fromEntries(new FormData(form)), named = fits(wanted.function);
  let shown = 0, listed = 0;
  for (const finding of findings) {
    const is = finding.dataset;
    finding.hidden = !(named(is.function.replace(/[+ ].*$/, "")) && (!wanted.severity || is.severity === wanted.severity) && (!wanted.evidence || is.evidence === wanted.evidence));
    if (!finding.hidden) shown++;
  }
  for (const row of functions) {
    row.hidden = !(named(row.dataset.function) && (!wanted.only || wanted.only in row.dataset));
    if (!row.hidden) listed++;
  }
  document.getElementById("count").textContent = `${count(shown, "finding")}, ${count(listed, "function")}`;
}

function remember() {
  apply();
  const link = new URLSearchParams([...new FormData(form)].filter(([, value]) => value)).toString();
  history.replaceState(null, "", link ? `#${link}` : "#");
}

function fromLink() {
  const link = location.hash.slice(1), finding = link.startsWith("finding-") && document.getElementById(link);
  const values = new URLSearchParams(finding ? "" : link);
  for (const field of form.elements) if (field.name) field.value = values.get(field.name) ?? "";
  apply();
  if (finding) {
    finding.open = true;
    finding.scrollIntoView({ block: "center" });
    finding.querySelector("summary").focus({ preventScroll: true });
  }
}

form.addEventListener("input", remember);
form.addEventListener("submit", (event) => event.preventDefault());
form.addEventListener("reset", () => setTimeout(remember));
addEventListener("hashchange", fromLink);
fromLink();
document.documentElement.dataset.ready = "yes";
