"use strict";
// Draws a flame graph into elements of the page: showFlame(data), as often as there is new data.
const element = id => document.getElementById(id);
const graph = element("graph"), say = element("say");
const ROW = 18, TOP = 30;
let data, tree, hues;

// The tree, an array for each member of its nodes: see flame.c for how it is written.
function readTree(numbers, types) {
  const tree = { level: [], func: [], parent: [], own: types.map(() => []) };
  const path = [];
  for (let at = 0; at < numbers.length;) {
    const level = numbers[at], code = numbers[at + 1], node = tree.level.length;
    const bare = code < 0;
    at += 2;
    tree.level.push(level);
    tree.func.push(bare ? -code - 1 : code);
    tree.parent.push(level ? path[level - 1] : 0);
    tree.own.forEach(own => own.push(bare ? 0 : numbers[at++]));
    path[level] = node;
  }
  tree.count = tree.level.length;
  tree.end = new Array(tree.count).fill(0);
  for (let node = tree.count - 1; node >= 0; node--) {
    tree.end[node] = Math.max(tree.end[node], node + 1);
    const parent = tree.parent[node];
    tree.end[parent] = Math.max(tree.end[parent], tree.end[node]);
  }
  tree.total = tree.own.map(own => {
    const total = own.slice();
    for (let node = tree.count - 1; node > 0; node--) total[tree.parent[node]] += total[node];
    return total;
  });
  return tree;
}

const state = { lines: 0, type: 0, zoom: 0, active: 0, flame: false, found: null, byModule: false };
let shown = new Map();

function formatValue(value, unit) {
  const seconds = { nanoseconds: 1e-9, microseconds: 1e-6, milliseconds: 1e-3, seconds: 1 }[unit];
  if (!seconds) return value.toLocaleString("en") + " " + unit;
  const time = value * seconds, size = Math.abs(time);
  if (size >= 3600) return (time / 3600).toFixed(2) + " h";
  if (size >= 1) return time.toFixed(2) + " s";
  return size >= 1e-3 ? (time * 1e3).toFixed(2) + " ms" : (time * 1e6).toFixed(2) + " us";
}

let formatTime = ms => new Date(ms).toISOString().slice(0, 19).replace("T", " ") + " UTC";
const unit = () => data.types[state.type][1];
const total = node => tree.total[state.type][node];
const percent = (value, of) => (of ? 100 * value / of : 0).toFixed(2) + " %";
const nameOf = node => data.functions[tree.func[node]][0];

function placeOf(func) {
  const [, file, line] = data.functions[func];
  return file + (line > 0 ? ":" + line : "");
}

function describe(node) {
  let text = formatValue(total(node), unit()) + ", " + percent(total(node), total(0)) + " of all";
  if (state.zoom) text += ", " + percent(total(node), total(state.zoom)) + " of what is shown";
  text += "; own " + formatValue(tree.own[state.type][node], unit());
  if (data.base !== null) {
    const before = tree.total[data.base][node];
    text += "; before " + formatValue(before, unit()) + ", change " + formatValue(total(node) - before, unit());
  }
  return text;
}

function tell(node) {
  const name = document.createElement("b");
  name.textContent = nameOf(node);
  say.replaceChildren(name, " " + placeOf(tree.func[node]), document.createElement("br"), describe(node));
}

function hash(text, range) {
  let sum = 2166136261;
  for (let i = 0; i < text.length; i++) sum = Math.imul(sum ^ text.charCodeAt(i), 16777619);
  return (sum >>> 16) % range;
}

const KINDS = [["this program", 28, 90], ["installed packages", 208, 62], ["runtime", 0, 0]];

// An installed package, or the folder that a program's own file is in.
function moduleOf(file) {
  const installed = /\/(?:site|dist)-packages\/([^/]+)/.exec(file) || /\/python3[^/]*\/([^/]+)/.exec(file);
  return installed ? installed[1].replace(/\.py$/, "") : file.slice(0, file.lastIndexOf("/") + 1) || file;
}

function colourFunction([, file, , kind]) {
  if (!state.byModule) return `hsl(${KINDS[kind][1] + (kind < 2 ? hash(file, 16) : 0)} ${KINDS[kind][2]}% ${66 + hash(file, 16)}%)`;
  return file ? `hsl(${hash(moduleOf(file), 360)} 62% 74%)` : "hsl(0 0% 74%)";
}

function colourOf(node) {
  if (data.base === null) return hues[tree.func[node]];
  const change = Math.max(-1, Math.min(1, 4 * (total(node) - tree.total[data.base][node]) / (total(0) || 1)));
  return `hsl(${change >= 0 ? 4 : 216} 80% ${92 - 34 * Math.abs(change)}%)`;
}

function addBox(node, x, width, top, above) {
  const box = document.createElement("div");
  box.style.cssText = `left:${x}px;width:${width}px;top:${top}px;background-color:${colourOf(node)}`;
  if (width > 8) box.classList.add("wide");
  if (width > 24) box.textContent = nameOf(node);
  if (above) box.classList.add("above");
  if (state.found && state.found.has(tree.func[node])) box.classList.add("found");
  box.setAttribute("role", "treeitem");
  box.setAttribute("aria-level", tree.level[node] + 1);
  box.setAttribute("aria-label", nameOf(node) + ", " + percent(total(node), total(0)));
  box.tabIndex = node === state.active ? 0 : -1;
  box.dataset.node = node;
  shown.set(node, box);
  return box;
}

// Which boxes are to be seen, where: what is on the way to the zoomed node fills the width.
function layOut() {
  const width = graph.clientWidth, boxes = [], left = [];
  for (let node = tree.parent[state.zoom]; state.zoom; node = tree.parent[node]) {
    boxes.push([node, 0, width, true]);
    if (!node) break;
  }
  const scale = total(state.zoom) > 0 ? width / total(state.zoom) : 0;
  left[tree.level[state.zoom]] = 0;
  for (let node = state.zoom; node < tree.end[state.zoom];) {
    const level = tree.level[node], wide = Math.max(0, total(node) * scale), x = left[level];
    left[level] = x + wide;
    if (wide < 1 && node !== state.zoom) {
      node = tree.end[node];
      continue;
    }
    left[level + 1] = x;
    boxes.push([node, x, node === state.zoom ? width : wide, false]);
    node++;
  }
  return boxes;
}

function draw() {
  const boxes = layOut(), focused = graph.contains(document.activeElement);
  const levels = boxes.reduce((most, [node]) => Math.max(most, tree.level[node]), 0) + 1;
  shown = new Map();
  graph.style.height = levels * ROW + "px";
  if (!boxes.some(([node]) => node === state.active)) state.active = state.zoom;
  graph.replaceChildren(...boxes.map(([node, x, width, above]) =>
    addBox(node, x, width, (state.flame ? levels - 1 - tree.level[node] : tree.level[node]) * ROW, above)));
  if (focused) shown.get(state.active).focus({ preventScroll: true });
  graph.classList.toggle("searching", state.found !== null);
  element("reset").disabled = state.zoom === 0;
}

function activate(node, focus) {
  const before = shown.get(state.active), now = shown.get(node);
  if (!now) return;
  if (before) before.tabIndex = -1;
  state.active = node;
  now.tabIndex = 0;
  if (focus) now.focus();
  tell(node);
}

function zoom(node) {
  state.zoom = state.active = node;
  draw();
  activate(node, true);
  showLines(tree.func[node]);
  graph.dispatchEvent(new Event("zoom"));
}

// A function as a step of a path: its name, the last part of its file, its first line.
function stepOf(node) {
  const [name, file, line] = data.functions[tree.func[node]];
  return [name, file.slice(file.lastIndexOf("/") + 1), String(line)];
}

// The way from the root to a node as text, for an address.
function pathTo(node) {
  const steps = [];
  for (; node; node = tree.parent[node]) steps.unshift(stepOf(node).join(":"));
  return steps.join(";");
}

// As far as such a path leads. Of children with one name that of the same file and line, or else the largest.
function followPath(path) {
  let node = 0;
  for (const step of path.split(";")) {
    const [, ...wanted] = /^(.*?)(?::([^:]*):(\d+))?$/s.exec(step);
    const same = child => stepOf(child).filter((part, i) => part === wanted[i]).length;
    let best;
    for (let child = node + 1; child < tree.end[node]; child = tree.end[child])
      if (nameOf(child) === wanted[0] && (!best || (same(child) - same(best) || total(child) - total(best)) > 0)) best = child;
    if (!best) break;
    node = best;
  }
  return node;
}

function neighbour(step) {
  const level = tree.level[state.active], parent = tree.parent[state.active];
  const row = [...shown.keys()].filter(node => tree.level[node] === level && tree.parent[node] === parent).sort((a, b) => a - b);
  return row[row.indexOf(state.active) + step];
}

function child() {
  let best;
  for (const node of shown.keys())
    if (node && tree.parent[node] === state.active && node !== state.active && (best === undefined || total(node) > total(best))) best = node;
  return best;
}

function onKey(event) {
  const inwards = state.flame ? "ArrowUp" : "ArrowDown", outwards = state.flame ? "ArrowDown" : "ArrowUp";
  const to = { [inwards]: child, [outwards]: () => tree.parent[state.active], ArrowLeft: () => neighbour(-1), ArrowRight: () => neighbour(1), Home: () => 0 }[event.key];
  if (to) {
    const node = to();
    if (node !== undefined) activate(node, true);
  } else if (event.key === "Enter" || event.key === " ") {
    zoom(state.active);
  } else {
    return;
  }
  event.preventDefault();
}

// Text, or a regular expression between slashes; nothing for one that is not finished yet.
function matcher(text) {
  if (text.length > 2 && text[0] === "/" && text.endsWith("/")) {
    try {
      const pattern = new RegExp(text.slice(1, -1), "i");
      return words => pattern.test(words);
    } catch {
      return null;
    }
  }
  const wanted = text.toLowerCase();
  return words => words.toLowerCase().includes(wanted);
}

function search(text) {
  const fits = text ? matcher(text) : null;
  state.found = fits && new Set(data.functions.keys());
  if (fits) data.functions.forEach(([name, file], func) => {
    if (!func || !fits(name + " " + file)) state.found.delete(func);
  });
  let sum = 0;
  for (let node = 0; fits && node < tree.count;) {
    const hit = state.found.has(tree.func[node]);
    sum += hit ? total(node) : 0;
    node = hit ? tree.end[node] : node + 1;
  }
  element("found").textContent = fits ? `${state.found.size} functions found: ${percent(sum, total(0))}` : "";
  draw();
}

function widestFound() {
  let best;
  for (const node of shown.keys())
    if (state.found && state.found.has(tree.func[node]) && (best === undefined || total(node) > total(best))) best = node;
  return best;
}

// Own and total of each function, by its number; recursion counts once.
function sumFunctions(type) {
  const sums = data.functions.map(() => ({ own: 0, total: 0 })), open = data.functions.map(() => 0), path = [];
  for (let node = 0; node < tree.count; node++) {
    while (path.length > tree.level[node]) open[tree.func[path.pop()]]--;
    const sum = sums[tree.func[node]];
    sum.own += tree.own[type][node];
    if (open[tree.func[node]]++ === 0) sum.total += tree.total[type][node];
    path.push(node);
  }
  return sums;
}

// Own and total of each line of a function, of each type.
function sumLines(func) {
  const { lines, types } = data, found = [];
  for (let at = 0; at < lines.length;) {
    const line = lines[at + 1], first = at + 2, bare = line < 0;
    at = first + (bare ? 1 : 2) * types.length;
    if (lines[first - 2] === func)
      found.push([Math.abs(line), types.map((_, type) => ({ own: bare ? 0 : lines[first + types.length + type], total: lines[first + type] }))]);
  }
  return found;
}

const signed = value => (value > 0 ? "+" : "") + formatValue(value, unit());

// Rows of [what, sum of now, sum before]; those that took or changed most first. `fill` adds the cells of what it is.
function fillSums(id, rows, fill) {
  const table = element(id), diff = data.base !== null, all = total(0);
  const size = ([, now, before], part) => diff ? Math.abs(now[part] - before[part]) : now[part];
  const cellsOf = (now, before) => diff
    ? [signed(now.own - before.own), formatValue(before.own, unit()), formatValue(now.own, unit()), signed(now.total - before.total)]
    : [formatValue(now.own, unit()), percent(now.own, all), formatValue(now.total, unit()), percent(now.total, all)];
  const heads = diff ? ["change", "before", "after", "in total"] : ["own", "%", "total", "%"];
  heads.forEach((text, i) => table.tHead.rows[0].cells[i].textContent = text);
  rows = rows.filter(row => size(row, "own") || size(row, "total"));
  rows.sort((a, b) => size(b, "own") - size(a, "own") || size(b, "total") - size(a, "total"));
  table.tBodies[0].replaceChildren(...rows.slice(0, TOP).map(([what, now, before]) => {
    const row = document.createElement("tr");
    for (const text of cellsOf(now, before)) row.insertCell().textContent = text;
    fill(row, what);
    return row;
  }));
}

function drawTop() {
  const now = sumFunctions(state.type), before = data.base === null ? [] : sumFunctions(data.base);
  element("top-title").textContent = data.base === null ? "Functions that took most" : "Functions that changed most";
  fillSums("top", now.map((sum, func) => [func, sum, before[func]]).slice(1), (row, func) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = data.functions[func][0];
    button.addEventListener("click", () => {
      element("search").value = data.functions[func][0];
      search(data.functions[func][0]);
      showLines(func);
      element("lines-title").scrollIntoView({ block: "center" });
    });
    row.insertCell().append(button);
    row.insertCell().textContent = placeOf(func);
  });
}

// The lines of a function, wherever it was called; 0: none are shown.
function showLines(func) {
  state.lines = func;
  element("of-function").hidden = !func;
  element("lines-title").textContent = `Lines of ${data.functions[func][0]} (${data.functions[func][1]})`;
  fillSums("lines", sumLines(func).map(([line, sums]) => [line, sums[state.type], sums[data.base]]),
    (row, line) => row.insertCell().textContent = line);
}

function legend() {
  if (data.base !== null) return [["took more than before", "hsl(4 80% 65%)"], ["took less", "hsl(216 80% 65%)"]];
  if (state.byModule) return [];
  return KINDS.map(([name, hue, saturation]) => [name, `hsl(${hue + 8} ${saturation}% 72%)`]);
}

function paint() {
  hues = data.functions.map(colourFunction);
  element("legend").replaceChildren(...legend().map(([name, colour]) => {
    const entry = document.createElement("span"), swatch = document.createElement("span");
    swatch.className = "swatch";
    swatch.style.background = colour;
    entry.append(swatch, name);
    return entry;
  }));
}

function choose(type) {
  state.type = type;
  const parts = [formatValue(total(0), unit()) + " " + data.types[type][0]];
  if (data.start) parts.push(formatTime(data.start));
  if (data.duration) parts.push((data.duration / 1000).toFixed(2) + " s");
  parts.push(data.madeBy);
  element("about").textContent = parts.join(" · ");
  search(element("search").value);
  drawTop();
  showLines(state.lines);
  tell(state.active);
}

function setUp() {
  element("value").addEventListener("change", event => choose(Number(event.target.value)));
  element("search").addEventListener("input", event => search(event.target.value.trim()));
  element("search").addEventListener("keydown", event => {
    const node = event.key === "Enter" ? widestFound() : undefined;
    if (node !== undefined) activate(node, true);
  });
  element("colour").addEventListener("change", event => {
    state.byModule = event.target.value === "module";
    paint();
    draw();
  });
  element("reset").addEventListener("click", () => zoom(0));
  element("flip").addEventListener("click", () => {
    state.flame = !state.flame;
    element("flip").textContent = state.flame ? "Put callers above" : "Put callers below";
    draw();
  });
  graph.addEventListener("click", event => event.target.dataset.node && zoom(Number(event.target.dataset.node)));
  graph.addEventListener("mouseover", event => event.target.dataset.node && tell(Number(event.target.dataset.node)));
  graph.addEventListener("focusin", event => event.target.dataset.node && tell(Number(event.target.dataset.node)));
  graph.addEventListener("keydown", onKey);
  document.addEventListener("keydown", event => {
    const typing = event.target === element("search");
    if (event.key === "/" && !typing) {
      event.preventDefault();
      element("search").focus();
    } else if (event.key === "Escape") {
      if (typing) element("search").value = "";
      search(element("search").value);
      zoom(0);
    }
  });
  new ResizeObserver(draw).observe(graph.parentElement);
}

// What was chosen before stays, as far as the new data has it; zooms to where the path leads.
function showFlame(next, path = "") {
  const first = !data, chosen = first ? "" : data.types[state.type][0], lines = first ? [] : data.functions[state.lines];
  data = next;
  tree = readTree(data.nodes, data.types);
  element("value").replaceChildren();
  data.types.forEach(([name], i) => {
    if (i !== data.base) element("value").add(new Option(name, i));
  });
  const type = data.types.findIndex(([name]) => name === chosen);
  state.type = type < 0 ? data.type : type;
  element("value").value = state.type;
  state.zoom = state.active = followPath(path);
  state.lines = data.functions.findIndex(func => func.every((part, i) => part === lines[i]));
  if (state.lines <= 0) state.lines = tree.func[state.zoom];
  paint();
  choose(state.type);
  if (first) setUp();
}

element("theme").addEventListener("click", () => {
  const root = document.documentElement, dark = matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = (root.dataset.theme || (dark ? "dark" : "light")) === "dark" ? "light" : "dark";
});
