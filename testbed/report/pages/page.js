// What every page shares: elements, the data block, colours and patterns on a canvas.

function el(tag, properties = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name === "class") node.className = value;
    else if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value !== false && value !== null && value !== undefined) node.setAttribute(name, value);
  }
  for (const child of children.flat()) if (child !== null && child !== undefined) node.append(child);
  return node;
}

// The layout of the block is described in testbed/report/page.py, at `packed`.
async function readBlock(id) {
  const text = document.getElementById(id).textContent.trim();
  const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  const buffer = await new Response(stream).arrayBuffer();
  const size = new DataView(buffer).getUint32(0, true);
  const head = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, size)));
  const start = Math.ceil((4 + size) / 8) * 8;
  const columns = {};
  for (const [name, [type, offset, count]] of Object.entries(head.columns)) {
    columns[name] = new globalThis[type + "Array"](buffer, start + offset, count);
  }
  return [head.facts, columns];
}

function style(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

// The same patterns as the swatches of page.css, as canvas fills.
function patternOf(context, outcome, scale) {
  const size = 6 * scale;
  const tile = document.createElement("canvas");
  tile.width = tile.height = size;
  const ink = tile.getContext("2d");
  ink.strokeStyle = ink.fillStyle = style("pattern");
  ink.lineWidth = scale;
  const line = (...ends) => { ink.beginPath(); for (const [a, b, c, d] of ends) { ink.moveTo(a, b); ink.lineTo(c, d); } ink.stroke(); };
  const half = size / 2;
  const rising = [[0, size, size, 0], [-half, half, half, -half], [half, size + half, size + half, half]];
  const falling = [[0, 0, size, size], [-half, half, half, size + half], [half, -half, size + half, half]];
  switch (outcome) {
    case "refused": line([0, half, size, half]); break;
    case "stopped": ink.fillRect(scale, scale, 1.5 * scale, 1.5 * scale); ink.fillRect(4 * scale, 4 * scale, 1.5 * scale, 1.5 * scale); break;
    case "ended_early": line(...rising); break;
    case "skipped": line(...falling); break;
    case "phantom": line(...rising); line(...falling); break;
    case "wrong_register": line([half, 0, half, size]); break;
    case "crashed": line([half, 0, half, size]); line([0, half, size, half]); break;
    case "hung": ink.fillRect(half, half, 2 * scale, 2 * scale); break;
    case "transition": ink.fillRect(0, 0, half, size); break;
    default: return null;
  }
  return context.createPattern(tile, "repeat");
}

function sized(canvas, height) {
  const scale = window.devicePixelRatio || 1;
  const width = canvas.parentElement.clientWidth;
  canvas.style.height = `${height}px`;
  canvas.width = Math.max(1, Math.round(width * scale));
  canvas.height = Math.round(height * scale);
  const context = canvas.getContext("2d");
  return { context, width: canvas.width, height: canvas.height, scale };
}

const number = (value) => value.toLocaleString("en");

// As testbed/report/phrases.py: never rounded up to 100 nor down to 0.
function share(part, whole) {
  if (!whole) return "-";
  if (part === 0 || part === whole) return part ? "100 %" : "0 %";
  return `${Math.min(Math.max((100 * part) / whole, 0.1), 99.9).toFixed(1)} %`;
}
