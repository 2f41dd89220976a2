// The page of the agent: flame.js, which comes before this, draws the flame graph.
(() => {
const STATE_MS = 2000, STORE_MS = 15000, BUSY_MS = 1000, TRIES = 8, SAMPLE_SECONDS = 5, DOWNLOAD_MS = 60000, ZOOM_MAX = 8000, ENDS_MIN = 2;

const view = {
  service: null,              // by name
  label: "",                  // KEY=TEXT: what the time line and the flame graph have with it alone; "": all
  only: 0,                    // the process that the time line and the flame graph are of; 0: all
  span: [0, 0],               // the time line's whole time, UTC in milliseconds
  ends: [0, 1000],            // what is chosen of it, in thousandths
  exact: null,                // the same as the address says it, UTC in milliseconds, until another choice
  zoom: "",                   // the path to what the flame graph is zoomed to
  what: "",                   // the value that the address asks for, until there are values
  sorts: new Map(),           // of tables by id: the column that rows are sorted by, and whether the largest is first
  kept: null,                 // a range to compare with
  folders: new Map(),         // of services in the store, as /api/services has them
  looked: false,              // the store was asked what it has
  line: null,                 // the time line's points
  state: null,                // as /api/state has it
  pid: 0,                     // whose threads are shown
  turn: 0,                    // of the graph that was asked for last
  paused: false,
};

// --- Words for people

const count = number => number.toLocaleString("en");
const mebibytes = bytes => (bytes / 1048576).toFixed(1);
const two = number => String(number).padStart(2, "0");

function clock(ms) {
  const date = new Date(ms), today = new Date().toDateString() === date.toDateString();
  const time = `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
  return today ? time : `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())} ${time}`;
}

formatTime = clock; // of the flame graph: one time zone for all of the page
const zone = () => "time of " + (Intl.DateTimeFormat().resolvedOptions().timeZone || "this browser");

function span(ms) {
  const s = Math.round(ms / 1000);
  if (s < 120) return s + " s";
  if (s < 7200) return Math.round(s / 60) + " min";
  return s < 172800 ? (s / 3600).toFixed(1) + " h" : (s / 86400).toFixed(1) + " days";
}

// --- Elements

function make(tag, properties, ...children) {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
}

function setText(where, text) {
  if (where.textContent !== text) where.textContent = text;
}

// By what the cells show: numbers by size, whatever stands behind them, and all else as text.
function sortRows(table, rows) {
  const sort = view.sorts.get(table);
  if (!sort) return;
  const valueOf = row => {
    const text = row.cells[sort.column].textContent, number = parseFloat(text.replace(/,/g, ""));
    return /^\d{4}-|^\d\d:/.test(text) || Number.isNaN(number) ? text : number;
  };
  const compare = (a, b) => typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b));
  rows.sort((a, b) => (sort.down ? -1 : 1) * compare(valueOf(a), valueOf(b)));
}

// A click on a heading sorts: numbers begin with the largest, names with the first; another click turns it over.
function setUpSorting(table, draw) {
  [...table.tHead.rows[0].cells].forEach((head, column) => {
    const button = make("button", { type: "button", textContent: head.textContent });
    button.addEventListener("click", () => {
      const before = view.sorts.get(table.id);
      view.sorts.set(table.id, { column, down: before && before.column === column ? !before.down : column > 0 });
      for (const one of table.tHead.rows[0].cells) one.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", view.sorts.get(table.id).down ? "descending" : "ascending");
      draw();
    });
    head.replaceChildren(button);
  });
}

// Rows by key: those that stay keep their elements, so that a focus is not lost.
function fillRows(body, items, keyOf, fill) {
  const before = new Map([...body.rows].map(row => [row.dataset.key, row]));
  const rows = items.map(item => {
    const row = before.get(String(keyOf(item))) || make("tr");
    row.dataset.key = keyOf(item);
    fill(row, item);
    return row;
  });
  sortRows(body.parentElement.id, rows);
  if (rows.length !== body.rows.length || rows.some((row, i) => row !== body.rows[i])) body.replaceChildren(...rows);
}

function setCells(row, first, texts) {
  while (row.cells.length < first + texts.length) row.insertCell();
  texts.forEach((text, i) => setText(row.cells[first + i], String(text)));
}

function cellButton(row, at, text, label, onClick) {
  while (row.cells.length <= at) row.insertCell();
  let button = row.cells[at].querySelector("button");
  if (!button) {
    button = make("button", { type: "button" });
    button.addEventListener("click", onClick);
    row.cells[at].replaceChildren(button);
  }
  setText(button, text);
  if (label) button.setAttribute("aria-label", label);
  return button;
}

// --- Asking the agent

const pause = ms => new Promise(done => setTimeout(done, ms));

// The agent serves few requests of this kind at a time, and per second.
async function ask(what, words, tries = TRIES, read = answer => answer.json()) {
  const answer = await fetch(`api/${what}?${new URLSearchParams(words || {})}`, { cache: "no-store" });
  if (answer.ok) return read(answer);
  const text = (await answer.text()).trim();
  if (![429, 503].includes(answer.status) || tries <= 1) throw new Error(text || `status ${answer.status}`);
  await pause(BUSY_MS);
  return ask(what, words, tries - 1, read);
}

// One at a time: the agent has few readers of the store. Null for what is not wanted any more.
let queue = Promise.resolve();
function askStore(what, words, wanted = () => true, read = undefined) {
  const answer = queue.then(() => wanted() ? ask(what, words, TRIES, read) : null);
  queue = answer.catch(() => null);
  return answer;
}

function trouble(text) {
  setText(element("trouble"), text);
  element("trouble").hidden = !text;
}

// --- Services and processes

const failures = target => Object.values(target.failed).reduce((sum, number) => sum + number, 0);
const targetsOf = service => view.state ? view.state.targets.filter(target => target.service === service) : [];
const folderOf = service => [...view.folders.values()].find(folder => (folder.service || folder.folder) === service);

function sumTargets(targets, number) {
  return targets.reduce((sum, target) => sum + number(target), 0);
}

function listServices() {
  const names = new Set(view.state ? view.state.targets.map(target => target.service) : []);
  view.folders.forEach(folder => names.add(folder.service || folder.folder));
  return [...names].sort();
}

function hertz(rate) {
  return Number(rate.toPrecision(3)) + " Hz";
}

function percent(part) {
  return Number((100 * part).toPrecision(3)) + " %";
}

function rateOf(target) {
  return hertz(target.rate_hz) + (target.slowed ? ` of ${hertz(target.wanted_hz)}: max_cpu` : target.burst ? ", burst" : "");
}

function ratesOf(targets) {
  const rates = targets.map(target => target.rate_hz), least = Math.min(...rates), most = Math.max(...rates);
  if (!rates.length) return "";
  return (least < most ? `${hertz(least)} to ` : "") + hertz(most) + (targets.some(target => target.slowed) ? ": max_cpu" : "");
}

function drawServices() {
  const names = listServices();
  fillRows(element("services").tBodies[0], names, name => name, (row, name) => {
    const targets = targetsOf(name), folder = folderOf(name);
    const button = cellButton(row, 0, name, null, () => {
      view.exact = null;
      view.zoom = view.label = "";
      chooseService(name);
    });
    button.setAttribute("aria-current", String(name === view.service));
    const cpu = view.state && view.state.services.find(one => one.service === name);
    setCells(row, 1, [cpu ? `${cpu.cpu_hour_seconds.toFixed(1)} s` : "", targets.length, targets.filter(target => target.state === "sampled").length,
      ratesOf(targets),
      count(sumTargets(targets, target => target.samples)), count(sumTargets(targets, target => target.torn.all)),
      count(sumTargets(targets, failures)), folder ? count(folder.profiles) : "none",
      folder ? clock(folder.first_ms) : "", folder ? clock(folder.last_ms) : ""]);
    row.classList.toggle("gone", targets.length === 0);
  });
  if (!view.service && names.length) {
    const wanted = takeAddress();
    if (wanted && !names.includes(wanted) && !view.looked) return; // the store may have it
    chooseService(names.includes(wanted) ? wanted : names.find(name => folderOf(name)) || names[0]);
  }
}

function stateOf(target) {
  const words = { sampled: "sampled", waits: "waits", apart: "apart: it has blocked a sampler" };
  const { hang } = target, who = hang && hang.tid ? `, thread ${hang.tid}` : "";
  return (words[target.state] || target.state) + (hang ? `; hangs for ${span(1000 * hang.seconds)}: ${hang.kind}${who}` : "");
}

function drawTargets() {
  fillRows(element("targets").tBodies[0], targetsOf(view.service), target => target.pid, (row, target) => {
    setCells(row, 0, [target.pid, target.python || "not known yet", stateOf(target),
      rateOf(target), count(target.samples), count(target.missed),
      count(target.torn.all)]);
    row.cells[2].classList.toggle("bad", Boolean(target.hang));
    const button = cellButton(row, 7, "threads", `threads of process ${target.pid}`, () => showThreads(target.pid));
    button.setAttribute("aria-pressed", String(view.pid === target.pid));
    cellButton(row, 8, "next 5 seconds", `the next ${SAMPLE_SECONDS} seconds of process ${target.pid}`,
      () => sampleNow({ pid: target.pid }, `process ${target.pid}, `));
    const kept = cellButton(row, 9, "time line", `time line of process ${target.pid}`, () => chooseProcess(target.pid));
    kept.setAttribute("aria-pressed", String(view.only === target.pid));
  });
}

// --- The agent and its exporters

function healthOf(state) {
  const failing = state.exporters.filter(exporter => exporter.last_error).length;
  const parts = [`${count(state.sampling)} of ${count(state.targets.length)} processes sampled`,
    `${(100 * state.budget.cpu_used).toFixed(2)} % of a core`, `${mebibytes(state.budget.memory_used_bytes)} MiB`];
  const hanging = state.targets.filter(target => target.hang).length;
  if (hanging) parts.push(`${hanging} hang`);
  if (failing) parts.push(`${failing} exporter${failing === 1 ? "" : "s"} failed last`);
  return parts.join(" · ");
}

function drawFacts(state) {
  const budget = state.budget, config = state.config || {}, spool = state.spool;
  const early = state.taken_unix_ns - state.started_unix_ns < 60e9;  // when it takes the most, by a limit of minutes
  const facts = [["version", state.version], ["process", state.pid],
    ["runs since", clock(state.started_unix_ns / 1e6)],
    ["CPU", `${(100 * budget.cpu_used).toFixed(2)} % of a core` + (early ? " since it started" : "") +
      (budget.cpu_promised ? `, promised ${(100 * budget.cpu_promised).toFixed(2)} %` + (early ? " over a minute" : "") : "")],
    ["memory", `${mebibytes(budget.memory_used_bytes)} MiB` + (budget.memory_promised_bytes ? `, promised ${mebibytes(budget.memory_promised_bytes)} MiB` : "")],
    ["rates", budget.targets_slowed ? `${count(budget.targets_slowed)} sampled less often than asked for, as low as ${hertz(budget.slowest_hz)}, by max_cpu = ${percent(budget.cpu_promised)}: would take ${percent(budget.cpu_wanted)}` : "as asked for"],
    ["samplers", `${state.samplers.running} run, ${state.samplers.blocked} were blocked, ${state.samplers.crashed} crashed`],
    ["profiles", count(state.profiles)],
    ["spool", spool ? `${count(spool.entries)} profiles, ${mebibytes(spool.bytes)} MiB` + (spool.failing ? "; the disk takes none now" : "") : "off"],
    ["settings", (config.path || "") + (config.last_reload && config.last_reload.error ? "; the last reload failed: " + config.last_reload.error : "")]];
  const list = element("facts");
  if (list.children.length !== 2 * facts.length)
    list.replaceChildren(...facts.flatMap(([name]) => [make("dt", { textContent: name }), make("dd")]));
  facts.forEach(([, value], i) => setText(list.children[2 * i + 1], String(value)));
}

function drawExporters(state) {
  fillRows(element("exporters").tBodies[0], state.exporters, exporter => exporter.name, (row, exporter) => {
    const dropped = exporter.dropped.full + exporter.dropped.old + exporter.dropped.stop;
    const trouble = exporter.behind ? "falls behind: more comes than is taken" : exporter.last_error || "";
    setCells(row, 0, [exporter.name, exporter.type, count(exporter.sent), mebibytes(exporter.sent_bytes),
      count(exporter.queued), count(exporter.retried), count(exporter.refused), count(dropped),
      exporter.last_ok_unix_ns ? clock(exporter.last_ok_unix_ns / 1e6) : "never", trouble]);
    row.cells[9].classList.toggle("bad", Boolean(trouble));
  });
}

// --- The time line

const rangeMs = () => view.exact || view.ends.map(end => Math.round(view.span[0] + (view.span[1] - view.span[0]) * end / 1000));

// --- The address: whoever opens it sees the same service, range, value, search and zoom

function keepAddress() {
  const words = new URLSearchParams(), [from, to] = rangeMs(), what = element("what").value, search = element("search").value;
  if (!view.service) return;
  if (!element("follow").checked) Object.entries({ from, to }).forEach(([name, ms]) => words.set(name, new Date(ms).toISOString()));
  else if (!element("window").selectedOptions[0].defaultSelected) words.set("last", element("window").value);
  if (what && what !== "cpu") words.set("value", what);
  if (search) words.set("search", search);
  if (view.label) words.set("label", view.label);
  if (view.zoom && view.zoom.length <= ZOOM_MAX) words.set("zoom", view.zoom);
  if (element("compare").value === "before") words.set("compare", "before");
  history.replaceState(null, "", "#" + encodeURIComponent(view.service) + (String(words) ? "?" + words : ""));
}

// A range to the millisecond, in a window that has room for it.
function chooseExact(exact) {
  const windows = [...element("window").options].filter(option => option.value === "0" || Date.now() - exact[0] <= 1000 * option.value);
  view.exact = exact;
  if (!windows.some(option => option.selected)) element("window").value = windows[0].value;
  element("follow").checked = false;
}

// Gives the service.
function takeAddress() {
  const [service, text] = location.hash.slice(1).split("?"), words = new URLSearchParams(text);
  const exact = ["from", "to"].map(name => Date.parse(words.get(name)));
  if ([...element("window").options].some(option => option.value === words.get("last"))) element("window").value = words.get("last");
  if (exact[0] < exact[1]) chooseExact(exact);
  view.what = words.get("value") || "";
  view.zoom = words.get("zoom") || "";
  view.label = words.get("label") || "";
  element("search").value = words.get("search") || "";
  element("compare").value = words.get("compare") === "before" ? "before" : "";
  return decodeURIComponent(service);
}

function drawRange() {
  const [from, to] = rangeMs();
  setText(element("range"), `${clock(from)} to ${clock(to)}, ${span(to - from)}`);
  element("from").value = view.ends[0];
  element("to").value = view.ends[1];
  element("from").style.zIndex = view.ends[0] > 500 ? 1 : 0; // the one above is the one that there is room for
  element("from").setAttribute("aria-valuetext", clock(from));
  element("to").setAttribute("aria-valuetext", clock(to));
  Object.entries({ since: from, until: to }).forEach(([id, ms]) => {
    const field = element(id), local = ms - 60000 * new Date(ms).getTimezoneOffset();
    if (field !== document.activeElement) field.value = new Date(local).toISOString().slice(0, 19);
  });
  const box = element("line").querySelector(".range");
  if (!box) return;
  box.setAttribute("x", view.ends[0]);
  box.setAttribute("width", Math.max(1, view.ends[1] - view.ends[0]));
}

function svg(tag, attributes) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  return made;
}

// A bar for each profile: what it counts in each second of it.
function drawLine() {
  const chosen = view.line.types.findIndex(([name]) => name === element("what").value);
  const points = chosen < 0 ? [] : view.line.points.map(point => [point[0], point[1], point[2 + chosen] / Math.max(1, point[1])]);
  const top = Math.max(0, ...points.map(point => point[2])), [begin, end] = view.span, scale = 1000 / Math.max(1, end - begin);
  const image = svg("svg", { viewBox: "0 0 1000 100", preserveAspectRatio: "none", role: "img" });
  const step = view.line.files > points.length && points.length ? (end - begin) / points.length : 0;
  for (const [time, duration, value] of points) {
    const height = top > 0 ? 98 * value / top : 0;
    image.append(svg("rect", { class: "point", x: (time - begin) * scale, y: 100 - height,
      width: Math.max(0.6, Math.max(duration, step) * scale * 0.92), height }));
  }
  image.append(svg("rect", { class: "range", y: 0, height: 100 }));
  const unit = chosen < 0 ? "" : view.line.types[chosen][1];
  setText(element("axis"), top > 0 ? `the highest is ${unit === "nanoseconds" ? (top / 1e6).toPrecision(2) + " s" : count(Math.round(1000 * top)) + " " + unit} a second · ${clock(begin)} to ${clock(end)}, ${zone()}` : "");
  image.setAttribute("aria-label", `${element("what").value || "nothing"} of ${points.length} profiles, ${clock(begin)} to ${clock(end)}`);
  element("line").replaceChildren(image);
  drawRange();
}

function fillValues(types) {
  const select = element("what"), before = view.what || select.value || "cpu";
  if ([...select.options].map(option => option.value).join() === types.map(([name]) => name).join()) return;
  select.replaceChildren(...types.map(([name]) => new Option(name, name)));
  select.value = types.some(([name]) => name === before) ? before : types.length ? types[0][0] : "";
  view.what = "";
}

// The labels of all that is in a range: of what has one alone there are no others.
function fillLabels(labels) {
  const select = element("label"), texts = labels.map(([key, text]) => `${key}=${text}`).sort();
  if (view.label && [...select.options].some(option => option.value === view.label)) return;
  if (view.label && !texts.includes(view.label)) texts.push(view.label);
  select.replaceChildren(new Option("all", ""), ...texts.map(text => new Option(text.replace("=", ": "), text)));
  select.value = view.label;
  element("by-label").hidden = !texts.length;
}

function chooseSpan(folder) {
  const seconds = Number(element("window").value);
  view.span = [seconds ? Date.now() - seconds * 1000 : folder.first_ms, Math.max(Date.now(), folder.last_ms + 1)];
  if (view.exact) {
    const [begin, end] = view.span, part = ms => Math.min(1000, Math.max(0, Math.round(1000 * (ms - begin) / (end - begin))));
    view.ends = view.exact.map(part);
  }
}

const whom = folder => ({ service: folder.folder, ...(view.only ? { pid: view.only } : {}), ...(view.label ? { label: view.label } : {}) });
const aboutWhom = before => (view.only ? `${before}process ${view.only}` : "") + (view.label ? before + view.label.replace("=", ": ") : "");

async function loadLine() {
  const service = view.service, folder = folderOf(service);
  if (!folder) {
    setText(element("read"), "");
    element("line").replaceChildren();
    showNothing("The store keeps no profile of it" + (view.folders.size ? "." : " yet, or there is none ([exporter] type = store).") + " Sample the next seconds instead.");
    return;
  }
  chooseSpan(folder);
  const { only, label } = view, wanted = () => service === view.service && only === view.only && label === view.label;
  const line = await askStore("timeline", { ...whom(folder), from: view.span[0], to: view.span[1] }, wanted);
  if (!line || !wanted()) return;
  line.points.sort((a, b) => a[0] - b[0]);
  view.line = line;
  fillValues(line.types);
  setText(element("read"), line.read < line.files ? `shows ${count(line.read)} of ${count(line.files)} profiles` : `${count(line.files)} profiles`);
  drawLine();
  await loadGraph();
}

// --- The flame graph

function showNothing(text) {
  setText(element("nothing"), text);
  element("drawn").hidden = true;
  setText(element("about"), "");
}

function chooseValue() {
  const type = data ? data.types.findIndex(([name]) => name === element("what").value) : -1;
  if (type < 0 || type === data.base) return;
  element("value").value = type;
  choose(type);
}

function show(graph, words) {
  setText(element("nothing"), "");
  element("drawn").hidden = false;
  showFlame(graph, view.zoom);
  chooseValue();
  element("about").append(words);
}

function otherRange() {
  const [from, to] = rangeMs(), how = element("compare").value;
  if (how === "before") return [from - (to - from), from];
  return how === "kept" ? view.kept : null;
}

// Ranges that are not recorded throughout, and that a difference is one of rates.
function aboutRecorded({ before, after }, range, other) {
  const spans = [[before ? "after " : "", after, range], ...(before ? [["before ", before, other]] : [])];
  const gaps = spans.filter(([, part, [from, to]]) => part.recorded_ms < 0.9 * (to - from));
  const words = gaps.map(([name, part, [from, to]]) => ` · ${name}recorded ${formatValue(part.recorded_ms, "milliseconds")} of ${formatValue(to - from, "milliseconds")}`);
  const factor = before && before.recorded_ms ? after.recorded_ms / before.recorded_ms : 1;
  if (Math.abs(factor - 1) > 0.01) words.push(` · values before are times ${factor.toPrecision(3)}, as that much more or less was recorded`);
  return words.join("");
}

function aboutRead({ before, after, share }) {
  const parts = before ? [["before", before], ["after", after]] : [["", after]];
  const words = parts.filter(([, part]) => part.read < part.files).map(([name, part]) => ` · ${name} ${count(part.read)} of ${count(part.files)} profiles added up, evenly chosen`);
  return words.join("") + (share ? ` · functions below ${(100 * share).toPrecision(1)} % left out` : "");
}

async function loadGraph() {
  const folder = folderOf(view.service), turn = ++view.turn, other = otherRange(), [from, to] = rangeMs();
  keepAddress();
  if (!folder) return;
  const words = { ...whom(folder), from, to };
  if (other) Object.assign(words, { before_from: Math.max(0, other[0]), before_to: other[1], type: element("what").value });
  element("drawn").setAttribute("aria-busy", "true");
  try {
    const graph = await askStore("graph", words, () => turn === view.turn);
    if (!graph || turn !== view.turn) return;
    fillLabels(graph.labels);
    show(graph, aboutWhom(" · ") + (other ? ` · against ${clock(other[0])} to ${clock(other[1])}` : "") + aboutRead(graph) + aboutRecorded(graph, [from, to], other));
  } catch (error) {
    if (turn === view.turn) showNothing(error.message);
  }
  element("drawn").removeAttribute("aria-busy");
}

async function sampleNow(whom, words) {
  const button = element("sample"), turn = ++view.turn;
  element("follow").checked = false;
  button.disabled = true;
  setText(element("nothing"), `samples for ${SAMPLE_SECONDS} seconds`);
  try {
    const graph = await ask("sample", { ...whom, seconds: SAMPLE_SECONDS });
    if (turn === view.turn) show(graph, ` · ${words}sampled now`);
  } catch (error) {
    if (turn === view.turn) showNothing(error.message);
  }
  button.disabled = false;
}

// What is chosen of the time line, as a file for other tools.
async function download() {
  const folder = folderOf(view.service), button = element("download"), [from, to] = rangeMs();
  if (!folder) return;
  button.disabled = true;
  try {
    const words = { ...whom(folder), from, to, type: element("what").value };
    const file = URL.createObjectURL(await askStore("profile", words, undefined, answer => answer.blob()));
    const name = `${folder.folder}${view.only ? "-" + view.only : ""}-${new Date(from).toISOString().slice(0, 19).replaceAll(":", "")}Z.pb.gz`;
    make("a", { href: file, download: name }).click();
    pause(DOWNLOAD_MS).then(() => URL.revokeObjectURL(file));
  } catch (error) {
    setText(element("read"), `No file: ${error.message}`);
  }
  button.disabled = false;
}

// --- Threads

function stackOf(thread) {
  const details = make("details", {}, make("summary", { textContent: `${thread.frames.length} frames` }));
  details.append(make("ol", {}, ...thread.frames.map(frame =>
    make("li", { textContent: `${frame.func}  ${frame.file}${frame.line ? ":" + frame.line : ""}` }))));
  return details;
}

function drawThreads(threads) {
  const words = { gil: "holds the GIL", cpu: "on a CPU", gil_wait: "waits for the GIL", exception: "handles an exception", gc: "collects garbage" };
  fillRows(element("threads").querySelector("tbody"), threads, thread => thread.tid || thread.name, (row, thread) => {
    const frames = thread.frames || [], first = frames[0];
    const where = first ? `${first.func} ${first.file}${first.line ? ":" + first.line : ""}` : thread.torn ? "moves too fast to be read" : "no Python";
    setCells(row, 0, [thread.name || (thread.main ? "main" : ""), thread.tid || "", thread.status.map(word => words[word] || word).join(", ") || "sleeps", where]);
    while (row.cells.length < 5) row.insertCell();
    const open = row.cells[4].querySelector("details[open]") !== null;
    row.cells[4].replaceChildren(...(frames.length ? [stackOf({ frames })] : []));
    if (open && frames.length) row.cells[4].firstChild.open = true;
  });
}

async function loadThreads() {
  const pid = view.pid;
  if (!pid) return;
  try {
    const dump = await ask("threads", { pid }, 1);
    if (pid !== view.pid) return;
    const threads = dump.interpreters.flatMap(interpreter => interpreter.threads);
    const holders = threads.filter(thread => thread.status.includes("gil")).map(thread => thread.name || `thread ${thread.tid}`);
    setText(element("holder"), dump.free_threaded ? "This Python has no GIL." : holders.length ? `The GIL is held by ${holders.join(", ")}.` : "Nobody holds the GIL.");
    drawThreads(threads);
  } catch (error) {
    if (pid !== view.pid) return;
    setText(element("holder"), error.message);
    drawThreads([]);
    if (!targetsOf(view.service).some(target => target.pid === pid)) view.pid = 0;
  }
}

function showThreads(pid) {
  view.pid = view.pid === pid ? 0 : pid;
  element("threads").hidden = !view.pid;
  setText(element("of"), `process ${pid}`);
  setText(element("holder"), "reads");
  drawThreads([]);
  drawTargets();
  loadThreads();
}

// --- What is chosen

function guard(promise) {
  return promise.catch(error => trouble(error.message));
}

function showOnly(pid, label) {
  view.only = pid;
  view.label = label;
  element("all").hidden = !pid;
  document.querySelectorAll(".only").forEach(part => setText(part, aboutWhom(", ")));
}

function chooseLabel(label) {
  showOnly(view.only, label);
  guard(loadLine());
}

function chooseProcess(pid) {
  showOnly(view.only === pid ? 0 : pid, view.label);
  drawTargets();
  guard(loadLine());
}

function chooseService(name) {
  view.service = name;
  view.pid = 0;
  fillLabels([]);
  showOnly(0, view.label);
  view.ends = [0, 1000];
  element("threads").hidden = true;
  element("chosen").hidden = false;
  keepAddress();
  document.querySelectorAll(".service").forEach(part => setText(part, name));
  drawServices();
  drawTargets();
  guard(loadLine());
}

function chooseEnds(a, b) {
  view.exact = null;
  view.ends = [Math.min(a, b), Math.max(a, b)];
  if (view.ends[1] - view.ends[0] < ENDS_MIN) view.ends[1] = Math.min(1000, Math.max(0, view.ends[0]) + ENDS_MIN), view.ends[0] = view.ends[1] - ENDS_MIN;
  element("follow").checked = view.ends[0] === 0 && view.ends[1] === 1000;
  drawRange();
}

function setUpLine() {
  const line = element("line");
  let begun = null;
  const at = event => {
    const box = line.getBoundingClientRect();
    return Math.round(1000 * Math.min(1, Math.max(0, (event.clientX - box.left) / box.width)));
  };
  line.addEventListener("pointerdown", event => {
    begun = at(event);
    line.setPointerCapture(event.pointerId);
  });
  line.addEventListener("pointermove", event => begun !== null && Math.abs(at(event) - begun) > 2 && chooseEnds(begun, at(event)));
  line.addEventListener("pointerup", event => {
    if (begun !== null && Math.abs(at(event) - begun) > 2) loadGraph();
    begun = null;
  });
  for (const id of ["from", "to"]) {
    element(id).addEventListener("input", () => {
      const [from, to] = ["from", "to"].map(one => Number(element(one).value)); // no handle passes the other
      chooseEnds(id === "from" ? Math.min(from, to - ENDS_MIN) : from, id === "to" ? Math.max(to, from + ENDS_MIN) : to);
    });
    element(id).addEventListener("change", loadGraph);
  }
}

// Times as they are typed in, of this browser's zone.
function chooseTimes() {
  const exact = ["since", "until"].map(id => Date.parse(element(id).value));
  if (!(exact[0] < exact[1])) return;
  chooseExact(exact);
  guard(loadLine());
}

function setUpChoices() {
  for (const id of ["since", "until"]) element(id).addEventListener("change", chooseTimes);
  element("window").addEventListener("change", () => {
    view.exact = null;
    view.ends = [0, 1000];
    guard(loadLine());
  });
  element("whole").addEventListener("click", () => {
    chooseEnds(0, 1000);
    guard(loadLine());
  });
  element("all").addEventListener("click", () => {
    chooseProcess(0);
    element("whole").focus(); // the button is gone
  });
  element("label").addEventListener("change", event => chooseLabel(event.target.value));
  element("what").addEventListener("change", () => {
    if (view.line) drawLine();
    if (element("compare").value) loadGraph();
    else chooseValue();
    keepAddress();
  });
  element("search").addEventListener("input", keepAddress);
  graph.addEventListener("zoom", () => {
    view.zoom = pathTo(state.zoom);
    keepAddress();
  });
  addEventListener("hashchange", () => location.reload()); // another address was put in
  element("compare").addEventListener("change", loadGraph);
  element("keep").addEventListener("click", () => {
    const [option] = [...element("compare").options].filter(one => one.value === "kept");
    view.kept = rangeMs();
    option.disabled = false;
    option.textContent = `the range that was kept: ${clock(view.kept[0])} to ${clock(view.kept[1])}`;
    if (element("compare").value === "kept") loadGraph();
  });
  element("sample").addEventListener("click", () => sampleNow({ target: view.service }, ""));
  element("download").addEventListener("click", download);
  element("pause").addEventListener("click", () => {
    view.paused = !view.paused;
    element("pause").setAttribute("aria-pressed", String(view.paused));
  });
}

// --- In turns, as long as somebody looks

async function takeState() {
  const state = await ask("state", {}, 1);
  view.state = state;
  trouble("");
  setText(element("health"), healthOf(state));
  drawServices();
  drawTargets();
  drawFacts(state);
  drawExporters(state);
  await loadThreads();
}

async function takeStore() {
  try {
    view.folders = new Map((await askStore("services")).services.map(folder => [folder.folder, folder]));
  } catch (error) {
    if (!view.state) throw error;
    view.folders = new Map();
  }
  view.looked = true;
  drawServices();
  if (view.service && (element("follow").checked || !view.line) && (view.line || folderOf(view.service))) await loadLine();
}

async function repeat(what, ms) {
  for (;;) {
    if (!view.paused && !document.hidden)
      await what().catch(error => trouble(`The agent gives no answer: ${error.message}`));
    await pause(ms);
  }
}

setUpLine();
setUpChoices();
setUpSorting(element("services"), drawServices);
setUpSorting(element("targets"), drawTargets);
takeState().then(takeStore).catch(error => trouble(`The agent gives no answer: ${error.message}`)).finally(() => {
  pause(STATE_MS).then(() => repeat(takeState, STATE_MS));
  pause(STORE_MS).then(() => repeat(takeStore, STORE_MS));
});
})();
