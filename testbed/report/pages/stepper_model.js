// The run as the block holds it: registers, words of the stack, chains of frames, moves. No element of the page.
// stackAt says the same as testbed/report/stack_drawing.py; a test compares the two.

function upTo(sorted, value) { // how many entries of a sorted column are <= value
  let low = 0, high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle] <= value) low = middle + 1; else high = middle;
  }
  return low;
}

function modelOf(facts, col) {
  const names = facts.registers.map((register) => register.name);
  const spColumn = facts.registers.findIndex((register) => register.role === "sp");
  const pointerColumns = facts.registers.flatMap((register, i) => (register.role === "fp" ? [i] : []));
  const linkColumn = facts.registers.findIndex((register) => register.role === "link");
  const mask = BigInt(facts.code_mask);
  const begin = facts.begins, last = begin + facts.steps - 1; // the rows that are steps; others say something of them
  const numberOf = (row) => row - begin + facts.first, rowOf = (number) => number - facts.first + begin;

  const register = (i, step) => col[`r${i}v`][upTo(col[`r${i}s`], step) - 1];
  const sp = (step) => Number(register(spColumn, step));
  const pc = (step) => facts.code[col.line[step]][0];
  const functionOf = (activation) => facts.functions[col.function[activation]];

  const rowsOf = new Map(); // word address -> rows of the event columns, in order
  for (let row = 0; row < col.event_step.length; row++) {
    const address = col.event_address[row];
    const rows = rowsOf.get(address);
    if (rows) rows.push(row); else rowsOf.set(address, [row]);
  }
  function lastEvent(address, step) {
    const rows = rowsOf.get(address);
    if (!rows) return -1;
    let low = 0, high = rows.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (col.event_step[rows[middle]] < step) low = middle + 1; else high = middle;
    }
    return low ? rows[low - 1] : -1;
  }

  const mapped = (low, high) => low >= high || col.region_low.some((start, i) => start <= low && high <= col.region_high[i]);

  function extents(step) {
    const found = [];
    let low = sp(step);
    low -= low % facts.word;
    for (let index = col.node[step]; index >= 0; index = col.parent[index]) {
      const high = col.stack_end[index];
      if (high < low && found.length) return [found, true];
      if (!mapped(low, high)) return [found, found.length > 0];
      found.push({ activation: index, low, high });
      if (col.alone[index]) return [found, true];
      low = Math.max(low, high);
    }
    return [found, false];
  }

  // What a signal's activation owns: the kernel's frame, and above it the interrupted code's red zone.
  function signalWordAt(address, step, owner) {
    const event = lastEvent(address, step), written = event < 0 ? -1 : col.event_step[event];
    const word = { address, value: null, kind: "UNTOUCHED", owner, written: -1, register: "", savedOf: -1, marks: [] };
    const red = address >= col.red_zone[owner];
    if (red) word.owner = col.parent[owner];
    if (written < (red ? col.opened[word.owner] : col.opened[owner] - 1)) return word;
    word.value = col.event_value[event];
    word.written = written;
    word.kind = red ? "RED_ZONE" : "SIGNAL_FRAME";
    if (red) return word;
    word.register = facts.signal_registers[String(address - col.signal_frame[owner])] ?? "";
    word.savedOf = col.parent[owner];
    word.changed = written > col.opened[owner] - 1;
    return word;
  }

  // Whose register an activation's callee found: a handler finds what the kernel has left alone.
  function registersOf(activation, column) {
    const opened = col.opened[activation];
    const left = col.signal_frame[activation] >= 0 && register(column, opened) === register(column, opened - 1);
    return left ? col.parent[activation] : activation;
  }

  function wordAt(address, step, owner) {
    if (col.signal_frame[owner] >= 0) return signalWordAt(address, step, owner);
    const event = lastEvent(address, step);
    const born = col.opened[owner] - (facts.pushes && col.cfa[owner] >= 0 ? 1 : 0);
    const word = { address, value: null, kind: "UNTOUCHED", owner, written: -1, register: "", savedOf: -1, marks: [] };
    if (col.opened[owner] < facts.unseen) word.kind = "EARLIER";
    if (event < 0 || col.event_step[event] < born) return word;
    word.value = col.event_value[event];
    const named = Number(word.value & mask), seen = col.event_step[event] >= facts.unseen;
    if (seen) word.written = col.event_step[event];
    if (col.ra[owner] >= 0 && named === col.ra[owner]) { word.kind = "RETURN_ADDRESS"; return word; }
    if (!seen) return word;
    const column = col.event_saved[event], of = col.parent[col.node[word.written]];
    if (column < 0 || of < 0) { word.kind = "LOCAL"; return word; }
    word.register = names[column];
    word.savedOf = registersOf(of, column);
    word.kind = facts.registers[column].role === "fp" ? "SAVED_FP" : "SAVED_REGISTER";
    return word;
  }

  function below(step) {
    const own = col.node[step], word = facts.word, near = facts.below_shown * word;
    let base = sp(step);
    base -= base % word;
    const inRedZone = (event) => event >= 0 && col.node[col.event_step[event]] === own
      && col.event_address[event] < sp(Math.min(col.event_step[event] + 1, last));
    let lowest = base;
    for (let address = base - Math.max(facts.red_zone, near); address < base; address += word) {
      const event = lastEvent(address, step);
      if (event >= 0 && ((facts.red_zone && inRedZone(event)) || address >= base - near)) { lowest = address; break; }
    }
    const words = [];
    for (let address = lowest; address < base; address += word) {
      const event = lastEvent(address, step);
      const kind = facts.red_zone && inRedZone(event) ? "RED_ZONE" : "BELOW";
      const value = event < 0 ? null : col.event_value[event];
      words.push({ address, value, kind, owner: own, written: event < 0 ? -1 : col.event_step[event], register: "", savedOf: -1, marks: [] });
    }
    return words;
  }

  function stackAt(step, limit = 4096) {
    const [found, elsewhere] = extents(step);
    const words = below(step);
    let leftOut = 0;
    for (const { activation, low, high } of found) {
      const room = limit - words.length, there = Math.max(0, Math.ceil((high - low) / facts.word));
      leftOut += Math.max(0, there - room);
      for (let i = 0; i < Math.min(there, Math.max(room, 0)); i++) words.push(wordAt(low + i * facts.word, step, activation));
    }
    const bottom = found.at(-1);
    if (bottom && col.cfa[bottom.activation] < 0 && !leftOut) {
      words.push({ address: bottom.high, value: null, kind: "EDGE", owner: bottom.activation, written: -1, register: "", savedOf: -1, marks: [] });
    }
    const marks = new Map();
    const mark = (address, label) => { if (marks.has(address)) marks.get(address).push(label); else marks.set(address, [label]); };
    mark(sp(step), "SP");
    for (const i of pointerColumns) mark(Number(register(i, step)), `FP ${names[i]}`);
    for (const { activation } of found) if (col.cfa[activation] >= 0) mark(col.cfa[activation], `CFA of ${functionOf(activation)}`);
    for (const word of words) word.marks = marks.get(word.address) ?? [];
    return { words, leftOut, elsewhere, returnAddress: holders(step, words) };
  }

  // Where the innermost activation's return address is: in the link register, in words of its own part.
  function holders(step, words) {
    const own = col.node[step], held = [];
    if (col.ra[own] < 0 || col.signal_frame[own] >= 0) return "";
    if (linkColumn >= 0 && Number(register(linkColumn, step) & mask) === col.ra[own]) held.push(`in ${names[linkColumn]}`);
    for (const word of words) {
      const away = word.address - col.cfa[own];
      if (word.owner === own && word.value !== null && Number(word.value & mask) === col.ra[own]) held.push(`at cfa${away < 0 ? "-" : away ? "+" : ""}${away ? hex(Math.abs(away)) : ""}`);
    }
    return held.join(" and ") || `not in the frame${linkColumn < 0 ? "" : `, nor in ${names[linkColumn]}`}`;
  }

  function wordLabel(word) {
    switch (word.kind) {
      case "RETURN_ADDRESS": return `return to ${facts.names[String(word.value & mask)] ?? hex(word.value)}`;
      case "SAVED_FP":
      case "SAVED_REGISTER": return `${word.register} of ${functionOf(word.savedOf)}`;
      case "SIGNAL_FRAME":
        if (!word.register) return "signal frame";
        return word.changed ? `signal frame: ${word.register} of ${functionOf(word.savedOf)}, changed since` : `signal frame: saved ${word.register} of ${functionOf(word.savedOf)}`;
      case "LOCAL": return `local of ${functionOf(word.owner)}`;
      case "UNTOUCHED":
        if (col.signal_frame[word.owner] >= 0) return "signal frame, not written";
        return `frame of ${functionOf(word.owner)}, not written`;
      case "EARLIER": return `frame of ${functionOf(word.owner)}, from before`;
      case "RED_ZONE": return `red zone of ${functionOf(word.owner)}`;
      case "BELOW": return "below SP";
      default: return "SP at entry";
    }
  }

  const hex = (value) => `0x${value.toString(16)}`;
  const nameOf = (address) => facts.names[String(address)] ?? hex(address);

  // A frame, and the calls that were inlined at its pc, innermost first.
  function interrupted(step) {
    const [at, name] = facts.code[col.line[step]];
    return { pc: pc(step), name, inlined: facts.inlined[`@${at}`] ?? [] };
  }
  const caller = (address) => ({ pc: address, name: nameOf(address), inlined: facts.inlined[String(address)] ?? [] });

  function truthAt(step) {
    const frames = [interrupted(step)];
    for (let index = col.node[step]; index >= 0 && col.ra[index] >= 0; index = col.parent[index]) {
      frames.push(caller(col.ra[index]));
    }
    return frames;
  }

  function saidAt(unwinder, step) {
    let node = col[`s${unwinder}callers`][step];
    if (node === -2147483648) return { frames: [], end: "" };
    const frames = [interrupted(step)];
    while (node >= 0) {
      frames.push(caller(col.frame_pc[node]));
      node = col.frame_outer[node];
    }
    return { frames, end: facts.ends[-1 - node] };
  }

  // Words are made once for each kind of step: which step's they are, where it is another one.
  const toldAt = (step) => (col.told[col.kind[step]] === step ? [] : [`as at step ${numberOf(col.told[col.kind[step]])}:`]);

  // An answer beside the truth (facts.besides): at[level] is its frame there, null where it lacks that true caller;
  // extra[level] are frames that never were, in front of that level; it ends in front of level `end`.
  function alignedAt(unwinder, step) {
    const said = saidAt(unwinder, step), way = facts.besides[col[`s${unwinder}beside`][step]];
    const at = [], extra = new Map();
    let next = 0;
    if (!way) at.push(...said.frames);
    for (const [, kind, times] of way.matchAll(/([=+-])(\d+)/g)) {
      for (let i = 0; i < Number(times); i++) {
        if (kind === "-") at.push(null);
        else if (kind === "=") at.push(said.frames[next++]);
        else extra.set(at.length, [...(extra.get(at.length) ?? []), said.frames[next++]]);
      }
    }
    return { at, extra, end: at.length, reason: said.end };
  }

  function changedAt(step) { // columns of the registers that the step before this one changed
    const changed = [];
    for (let i = 0; step > 0 && i < names.length; i++) {
      const steps = col[`r${i}s`], at = upTo(steps, step) - 1;
      if (at > 0 && steps[at] === step) changed.push(i);
    }
    return changed;
  }

  const moves = {
    NEXT: (step) => Math.min(step + 1, last),
    BACK: (step) => Math.max(step - 1, begin),
    FIRST: () => begin,
    LAST: () => last,
    NEXT_CALL(step) {
      for (let i = upTo(col.opened, step); i < col.opened.length; i++) if (col.parent[i] >= 0) return col.opened[i];
      return step;
    },
    OUT(step) {
      const parent = col.parent[col.node[step]];
      for (let k = step + 1; k <= last; k++) if (col.node[k] === parent) return k;
      return step;
    },
    NEXT_DIFFERENCE(step, shown) {
      for (let k = step + 1; k <= last; k++) for (const i of shown) {
        const outcome = col[`s${i}outcome`];
        if (outcome[k] && outcome[k] !== outcome[k - 1]) return k;
      }
      return step;
    },
  };

  const depth = new Uint16Array(col.parent.length); // callers of each activation
  let deepest = 0;
  for (let i = 0; i < depth.length; i++) {
    depth[i] = col.parent[i] < 0 ? 0 : depth[col.parent[i]] + 1;
    deepest = Math.max(deepest, depth[i]);
  }
  return { facts, col, begin, last, numberOf, rowOf, names, register, sp, pc, functionOf, stackAt, wordLabel, truthAt, saidAt, toldAt, alignedAt, changedAt, moves, depth, deepest, hex };
}
