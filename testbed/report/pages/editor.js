// The editor: what is typed is sent, one question at a time, and the stepper of the answer takes the place of the last.

const { programs } = JSON.parse(document.getElementById("facts").textContent);
const form = document.getElementById("choose"), source = document.getElementById("source"), numbers = document.getElementById("numbers");
const statusLine = document.getElementById("status"), said = document.getElementById("said"), verdicts = document.getElementById("verdicts");
const frames = document.getElementById("frames");
const WAIT = 180; // milliseconds without a key before it is sent
let original = "", suffix = "", before = null, asking = false, again = false, timer = 0, answered = 0;

function options(select, names, chosen) {
  select.replaceChildren(...names.map((name) => el("option", name === chosen ? { selected: "" } : {}, name)));
}

async function load(arch) {
  const program = form.program.value;
  options(form.arch, programs[program], programs[program].includes(arch) ? arch : programs[program][0]);
  const answer = await fetch(`source?${new URLSearchParams({ program, arch: form.arch.value })}`).then((got) => got.json());
  if (answer.error) { tell([answer.error]); return; }
  options(form.recipe, answer.recipes, answer.recipes[0]);
  ({ suffix } = answer);
  source.value = original = answer.text;
  before = null;
  number_lines();
  await ask();
}

function number_lines(wrong = 0) {
  const count = source.value.split("\n").length;
  numbers.replaceChildren(...Array.from({ length: count }, (_, i) => [i + 1 === wrong ? el("b", {}, String(i + 1)) : String(i + 1), "\n"]).flat());
  numbers.scrollTop = source.scrollTop;
}

// A message that names a line of the source leads to it.
function tell(messages) {
  let first = 0;
  said.replaceChildren(...messages.map((text) => {
    const line = Number(/\.(?:S|c|cc):(\d+)/.exec(text)?.[1] ?? 0);
    first ||= line;
    return el("p", line ? { "data-line": line, onclick: () => select(line) } : {}, text);
  }));
  number_lines(first);
}

function select(line) {
  const lines = source.value.split("\n"), start = lines.slice(0, line - 1).join("\n").length + (line > 1 ? 1 : 0);
  source.focus();
  source.setSelectionRange(start, start + (lines[line - 1] ?? "").length);
}

async function ask() {
  if (asking) { again = true; return; }
  asking = true;
  const started = performance.now();
  statusLine.textContent = "building, running, judging…";
  try {
    const body = JSON.stringify({ program: form.program.value, suffix, text: source.value, arch: form.arch.value, recipe: form.recipe.value });
    const got = await fetch("judge", { method: "POST", headers: { "Content-Type": "application/json" }, body });
    const answer = got.ok ? await got.json() : { error: await got.text() };
    if (answer.error) {
      tell([answer.error]);
      statusLine.textContent = "not judged: the stepper shows the source as it was before";
      document.querySelector(".shown").classList.add("stale");
    } else await show(answer, started);
  } catch (error) {
    statusLine.textContent = `the server does not answer: ${error}`;
  }
  asking = false;
  answered++;
  document.documentElement.dataset.answered = answered;
  if (again) { again = false; ask(); }
}

async function show(answer, started) {
  tell(answer.notes);
  const now = Object.fromEntries(answer.cells.map((cell) => [cell.name, cell]));
  verdicts.replaceChildren(verdicts.caption, el("tbody", {}, answer.cells.map((cell) => {
    const old = before?.[cell.name], judged = cell.sites - cell.transition - cell.undecided;
    const changed = old && (old.exact !== cell.exact || old.lying !== cell.lying || old.sites !== cell.sites);
    return el("tr", { class: changed ? "changed" : "" }, el("th", { scope: "row" }, cell.name),
      el("td", {}, changed ? `${share(old.exact, old.sites - old.transition - old.undecided)} → ` : ""), el("td", {}, `${share(cell.exact, judged)} exact`),
      el("td", {}, `${number(cell.lying)} ${cell.lying === 1 ? "lie" : "lies"}`), el("td", {}, cell.unexplained ? `${number(cell.unexplained)} unexplained` : ""));
  })));
  before = now;
  await turn(answer.at);
  document.querySelector(".shown").classList.remove("stale");
  const seconds = (performance.now() - started) / 1000;
  statusLine.textContent = `${number(answer.steps)} steps, ${answer.ending}; judged and drawn in ${seconds.toFixed(2)} s`;
  document.documentElement.dataset.seconds = seconds;
}

// The new page is made behind the old one, and takes its place when it is drawn: at the same step, the same focus.
function turn(at) {
  const old = frames.querySelector("iframe:not(.waiting)");
  frames.querySelectorAll("iframe.waiting").forEach((frame) => frame.remove());
  const place = old?.contentWindow.stepper?.place() ?? ""; // its address may lag behind
  const frame = el("iframe", { src: at + place, class: "waiting", title: "the stepper" });
  frames.append(frame);
  return new Promise((done) => {
    const scrolled = old?.contentWindow.scrollY ?? 0;
    const swap = () => {
      frame.contentWindow.scrollTo(0, scrolled);
      frame.classList.remove("waiting");
      old?.remove();
      done();
    };
    const look = (left) => (!left || frame.contentDocument?.documentElement.dataset.ready ? swap() : setTimeout(() => look(left - 1), 10));
    frame.addEventListener("load", () => look(300));
  });
}

source.addEventListener("input", () => { number_lines(); clearTimeout(timer); timer = setTimeout(ask, WAIT); });
source.addEventListener("scroll", () => { numbers.scrollTop = source.scrollTop; });
source.addEventListener("keydown", (event) => {
  if (event.key !== "Tab" || event.shiftKey) return;
  event.preventDefault();
  source.setRangeText("        ", source.selectionStart, source.selectionEnd, "end");
  source.dispatchEvent(new Event("input"));
});
form.program.addEventListener("change", () => load(form.arch.value));
form.arch.addEventListener("change", () => load(form.arch.value));
form.recipe.addEventListener("change", ask);
form.addEventListener("submit", (event) => event.preventDefault());
form.addEventListener("reset", (event) => { event.preventDefault(); source.value = original; number_lines(); ask(); });
load(form.arch.dataset.first).then(() => { document.documentElement.dataset.ready = "yes"; });
