// The page: shows what the view sends over one connection. No framework, no build step.
//
// Each panel gets its next frame when it has asked for it (`more`), so a slow page is never behind.
"use strict";

/** Between two texts, and between two updates of a plot, in ms: as fast as people read. */
const TEXT_INTERVAL = 100;
const PLOT_INTERVAL = 50;
/** Seconds that a plot shows, and points that it keeps. */
const PLOT_SECONDS = 30;
const PLOT_POINTS = 20000;
const RECONNECT_INTERVAL = 1000;

const byId = (id) => document.getElementById(id);

/** Makes an element with properties and children. */
function make(tag, properties = {}, ...children) {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children);
  return element;
}

// ---- Figures as people read them -------------------------------------------------------------

const threeDigits = (value, unit) =>
  `${value.toFixed(value < 10 ? 2 : value < 100 ? 1 : 0)} ${unit}`;

function duration(ns) {
  if (ns === null || ns === undefined) return "-";
  if (ns < 1e3) return `${ns} ns`;
  if (ns < 1e6) return threeDigits(ns / 1e3, "us");
  if (ns < 1e9) return threeDigits(ns / 1e6, "ms");
  return threeDigits(ns / 1e9, "s");
}

function bytes(count) {
  if (count === null || count === undefined) return "-";
  let unit = "B";
  for (const next of ["KiB", "MiB", "GiB", "TiB"]) {
    if (count < 1000) break;
    count /= 1024;
    unit = next;
  }
  return unit === "B" ? `${Math.round(count)} B` : threeDigits(count, unit);
}

const counted = (rows, one, many) => `${rows.length} ${rows.length === 1 ? one : many}`;
const rate = (perSecond) => (perSecond === null ? "-" : perSecond.toFixed(1));
const share = (ofOne) => (ofOne === null ? "-" : `${(ofOne * 100).toFixed(1)} %`);

const causes = (losses) =>
  Object.entries(losses).filter(([, count]) => count > 0)
    .map(([cause, count]) => `${cause.replace("_", " ")} ${count}`).join(", ");
const total = (losses) => Object.values(losses).reduce((sum, count) => sum + count, 0);

// ---- Tables ----------------------------------------------------------------------------------

/**
 * A table whose rows stay while their keys do, so that what is clicked is not replaced meanwhile.
 * Columns: [heading, row => text or element, is a number]. An element is made once for each row.
 * Rows stand in the order of their keys, or as they are given.
 */
class Table {
  constructor(element, columns, isSorted = true) {
    this.columns = columns;
    this.isSorted = isSorted;
    this.rows = new Map();
    const head = columns.map(([heading, , isNumber]) =>
      make("th", { textContent: heading, className: isNumber ? "number" : "" }));
    this.body = make("tbody");
    element.append(make("thead", {}, make("tr", {}, ...head)), this.body);
  }

  show(rows, key, isAlarming = () => false) {
    const gone = new Set(this.rows.keys());
    for (const row of rows) {
      const name = key(row);
      gone.delete(name);
      const element = this.rows.get(name) ?? this.add(name);
      element.className = isAlarming(row) ? "alarm" : "";
      this.columns.forEach(([, cell], place) => {
        if (!element.cells[place].firstElementChild) element.cells[place].replaceChildren(cell(row));
      });
    }
    for (const name of gone) {
      this.rows.get(name).remove();
      this.rows.delete(name);
    }
    if (this.isSorted) return;
    rows.forEach((row, place) => {
      const element = this.rows.get(key(row));
      // What stands right already is not touched: somebody may be about to click it.
      if (this.body.rows[place] !== element) this.body.insertBefore(element, this.body.rows[place]);
    });
  }

  add(name) {
    const cells = this.columns.map(([, , isNumber]) =>
      make("td", { className: isNumber ? "number" : "" }));
    const element = make("tr", {}, ...cells);
    element.dataset.key = name;
    const next = [...this.rows].filter(([other]) => other > name)
      .reduce((least, entry) => (least === null || entry[0] < least[0] ? entry : least), null);
    this.body.insertBefore(element, next ? next[1] : null);
    this.rows.set(name, element);
    return element;
  }
}

const PICTURES = ["sensor_msgs/msg/Image", "sensor_msgs/msg/CompressedImage"];

function showButtons(row) {
  const button = (form, label) =>
    make("button", { textContent: label, onclick: () => openPanel(row.topic, form) });
  const buttons = [button("text", "text")];
  if (PICTURES.includes(row.type)) buttons.push(button("picture", "picture"));
  return make("span", {}, ...buttons);
}

const topics = new Table(byId("topics"), [
  ["topic", (row) => row.topic],
  ["show", showButtons],
  ["rate", (row) => rate(row.rate_hz), true],
  ["bytes/s", (row) => bytes(row.bytes_per_s), true],
  ["age", (row) => duration(row.age_ns), true],
  ["taken", (row) => duration(row.taken_age_ns), true],
  ["waiting", (row) => row.waiting, true],
  ["subs", (row) => row.subscribers, true],
  ["copies", (row) => row.copies, true],
  ["lost", (row) => total(row.losses), true],
  ["by cause", (row) => causes(row.losses)],
  ["type", (row) => row.type],
]);
const nodes = new Table(byId("nodes"), [
  ["node", (row) => row.node],
  ["exec/s", (row) => rate(row.executions_per_s), true],
  ["mean", (row) => duration(row.mean_ns), true],
  ["p99", (row) => duration(row.p99_ns), true],
  ["cpu", (row) => share(row.cpu), true],
  ["lost", (row) => row.lost, true],
  ["process", (row) => row.process],
  ["executor", (row) => row.executor ?? "-"],
]);
const processes = new Table(byId("processes"), [
  ["process", (row) => row.process],
  ["pid", (row) => row.pid, true],
  ["cpu", (row) => share(row.cpu), true],
  ["switches/s", (row) => rate(row.switches_per_s), true],
  ["threads", (row) => row.threads, true],
  ["memory", (row) => bytes(row.resident_bytes), true],
  ["nodes", (row) => row.nodes, true],
  ["", (row) => (row.stopped ? "stopped" : "")],
]);
const chains = new Table(byId("chains"), [
  ["chain", (row) => row.chain],
  ["from", (row) => row.from],
  ["to", (row) => row.to],
  ["rate", (row) => rate(row.per_s), true],
  ["p50", (row) => duration(row.p50_ns), true],
  ["p99", (row) => duration(row.p99_ns), true],
  ["limit", (row) => duration(row.max_latency_ns), true],
  ["missed", (row) => row.late + row.stalled, true],
]);

// ---- The graph -------------------------------------------------------------------------------

/** The picture's styles are its own: it has a tree of its own. */
const graph = byId("graph").attachShadow({ mode: "open" });

function showLook(frame) {
  const state = byId("state");
  state.className = frame.error ? "lost" : "";
  if (frame.error) {
    state.textContent = frame.error;
    return;
  }
  document.body.className = "";
  const { look } = frame;
  const shown = look.topics.filter((row) => !isHidden(row.topic));
  state.textContent = `domain ${frame.domain_id}: ` + [
    counted(look.processes, "process", "processes"), counted(look.nodes, "node", "nodes"),
    counted(shown, "topic", "topics"),
  ].join(", ");
  topics.show(shown, (row) => row.topic,
    (row) => total(row.losses) > 0);
  nodes.show(look.nodes, (row) => `${row.node} ${row.pid}`,
    (row) => row.lost + row.over_budget + row.stale + row.failed > 0);
  processes.show(look.processes, (row) => `${row.process} ${row.pid}`, (row) => row.stopped);
  chains.show(look.chains, (row) => `${row.chain} ${row.from} ${row.to}`,
    (row) => row.late + row.stalled > 0);
  byId("notes").replaceChildren(
    ...look.unreachable.map((note) => make("li", { textContent: note })));
  const picture = new DOMParser().parseFromString(frame.picture, "image/svg+xml").documentElement;
  graph.replaceChildren(document.importNode(picture, true));
}

/** As in ROS 2; topics behind services do not begin with `/`. */
const isHidden = (topic) => topic.includes("/_") || !topic.startsWith("/");

// ---- Panels ----------------------------------------------------------------------------------

const panels = new Map();
let nextPanel = 1;

class Panel {
  constructor(topic, form, field) {
    this.id = nextPanel++;
    this.words = { show: this.id, topic, as: form, field };
    this.seen = make("small", { className: "note" });
    const close = make("button", { textContent: "x", title: "close", onclick: () => this.close() });
    const title = field ? `${topic} ${field}` : topic;
    this.body = make("div");
    this.element = make("section", { className: "panel" },
      make("h2", {}, make("span", { textContent: title }), this.seen, close), this.body);
    Object.assign(this.element.dataset, { topic, form, field: field ?? "" });
    byId("panels").append(this.element);
    panels.set(this.id, this);
    send(this.words);
  }

  close() {
    this.element.remove();
    panels.delete(this.id);
    send({ hide: this.id });
  }

  /** Shows a frame, then asks for the next. */
  async take(head, data) {
    this.seen.textContent = `${head.seen} messages`;
    this.element.dataset.seen = head.seen;
    if (head.error) {
      this.fail(head.error);
    } else {
      await this.show(head, data);
    }
    setTimeout(() => send({ more: this.id }), this.interval);
  }

  /** Shows a sentence in the place of what was shown. */
  fail(sentence) {
    this.table = this.canvas = undefined;
    this.body.replaceChildren(make("p", { className: "note", textContent: sentence }));
  }
}

/** A message as a table of its fields; numbers can be plotted. */
class TextPanel extends Panel {
  interval = TEXT_INTERVAL;

  show({ message }) {
    if (!this.table) {
      const table = make("table");
      const plot = (row) => typeof row.value === "number" || typeof row.value === "boolean"
        ? make("button", {
          textContent: "plot",
          onclick: () => openPanel(this.words.topic, "plot", row.path),
        })
        : "";
      this.table = new Table(table, [
        // In front, as long values are cut off in a narrow window.
        ["", plot],
        ["field", (row) => row.path],
        ["value", (row) => String(row.value), true],
      ], false);
      this.body.replaceChildren(table);
    }
    this.table.show([...leaves(message, "")], (row) => row.path);
  }
}

/** The values of a message with their paths. */
function* leaves(value, path) {
  if (value === null || typeof value !== "object") {
    yield { path, value };
    return;
  }
  const step = Array.isArray(value) ? (key) => `${path}[${key}]` : (key) => (path ? `${path}.${key}` : key);
  for (const [key, inner] of Object.entries(value)) yield* leaves(inner, step(key));
}

/** Raw pictures, pixel by pixel, and what the browser decodes. */
class PicturePanel extends Panel {
  interval = 0;

  async show(head, data) {
    if (!this.canvas) {
      this.canvas = make("canvas");
      this.body.replaceChildren(this.canvas);
    }
    const context = this.canvas.getContext("2d");
    const resize = ({ width, height }) => {
      if (this.canvas.width !== width || this.canvas.height !== height) {
        Object.assign(this.canvas, { width, height });
      }
    };
    try {
      if (head.format !== undefined) {
        const bitmap = await createImageBitmap(new Blob([data]));
        resize(bitmap);
        context.drawImage(bitmap, 0, 0);
        return;
      }
      resize(head);
      context.putImageData(pixels(head, data), 0, 0);
    } catch (error) {
      this.fail(error.message);
    }
  }
}

/** Encodings: bytes of a pixel, and where red, green, blue and alpha are in it. */
const ENCODINGS = {
  rgb8: [3, 0, 1, 2], bgr8: [3, 2, 1, 0], "8UC3": [3, 2, 1, 0],
  rgba8: [4, 0, 1, 2, 3], bgra8: [4, 2, 1, 0, 3],
  mono8: [1, 0, 0, 0], "8UC1": [1, 0, 0, 0],
  // The more significant byte, of little endian.
  mono16: [2, 1, 1, 1], "16UC1": [2, 1, 1, 1],
};

function pixels({ width, height, step, encoding, is_bigendian }, data) {
  const layout = ENCODINGS[encoding];
  if (!layout) throw new Error(`the encoding ${encoding} is not shown`);
  const isSwapped = is_bigendian && layout[0] === 2;
  const [size, red, green, blue, alpha] = isSwapped ? [2, 0, 0, 0] : layout;
  if (width === 0 || height === 0) throw new Error(`the picture has ${width} x ${height} pixels`);
  if (step < width * size || data.length < step * (height - 1) + width * size) {
    throw new Error(`the picture contradicts itself: ${width} x ${height} pixels of ${size} bytes ` +
      `in rows of ${step} bytes, and ${data.length} bytes of data`);
  }
  const image = new ImageData(width, height);
  const to = image.data;
  for (let y = 0, at = 0; y < height; y++) {
    for (let x = 0, from = y * step; x < width; x++, from += size, at += 4) {
      to[at] = data[from + red];
      to[at + 1] = data[from + green];
      to[at + 2] = data[from + blue];
      to[at + 3] = alpha === undefined ? 255 : data[from + alpha];
    }
  }
  return image;
}

/** A field over the time of the run. */
class PlotPanel extends Panel {
  interval = PLOT_INTERVAL;
  points = [];

  show({ points }) {
    if (!this.canvas) {
      this.canvas = make("canvas", { width: 800, height: 240 });
      this.range = make("p", { className: "note" });
      this.body.replaceChildren(this.canvas, this.range);
    }
    this.points.push(...points);
    const newest = this.points.at(-1)?.[0] ?? 0;
    // Time that goes backwards begins anew.
    const first = this.points.findIndex(([at]) => at >= newest - PLOT_SECONDS && at <= newest);
    this.points = this.points.slice(Math.max(first, this.points.length - PLOT_POINTS));
    this.draw(newest);
  }

  draw(newest) {
    const { width, height } = this.canvas;
    const values = this.points.map(([, value]) => value).filter((value) => value !== null);
    const least = Math.min(...values), greatest = Math.max(...values);
    const span = greatest - least || 1;
    const context = this.canvas.getContext("2d");
    context.clearRect(0, 0, width, height);
    context.strokeStyle = getComputedStyle(this.canvas).getPropertyValue("--accent");
    context.lineWidth = 2;
    context.beginPath();
    let isDrawing = false;
    for (const [at, value] of this.points) {
      const x = width * (1 - (newest - at) / PLOT_SECONDS);
      const y = height - 4 - ((value - least) / span) * (height - 8);
      if (value === null) isDrawing = false;
      else if (isDrawing) context.lineTo(x, y);
      else { context.moveTo(x, y); isDrawing = true; }
    }
    context.stroke();
    this.range.textContent = values.length === 0 ? "no numbers"
      : `${least} to ${greatest}, now ${values.at(-1)}; the last ${PLOT_SECONDS} s`;
  }
}

const FORMS = { text: TextPanel, picture: PicturePanel, plot: PlotPanel };

/** Shows a topic; what is shown already is not shown twice. */
function openPanel(topic, form, field) {
  const isSame = ({ words }) => words.topic === topic && words.as === form && words.field === field;
  if (![...panels.values()].some(isSame)) new FORMS[form](topic, form, field);
}

// ---- The connection --------------------------------------------------------------------------

let socket;

function send(words) {
  if (socket?.readyState === WebSocket.OPEN) socket.send(JSON.stringify(words));
}

function connect() {
  socket = new WebSocket(`ws://${location.host}/live`);
  socket.binaryType = "arraybuffer";
  socket.onopen = () => {
    for (const panel of panels.values()) send(panel.words);
  };
  socket.onmessage = ({ data }) => hear(data);
  socket.onclose = () => {
    const state = byId("state");
    state.className = "lost";
    document.body.className = "old";
    state.textContent = "not connected: the view has ended, or is being started again";
    setTimeout(connect, RECONNECT_INTERVAL);
  };
}

function hear(data) {
  if (typeof data === "string") {
    const frame = JSON.parse(data);
    if (frame.kind === "look") showLook(frame);
    else if (frame.id === undefined) byId("state").textContent = frame.error;
    else panels.get(frame.id)?.take(frame);
    return;
  }
  const length = new DataView(data).getUint32(0, true);
  const head = JSON.parse(new TextDecoder().decode(new Uint8Array(data, 4, length)));
  panels.get(head.id)?.take(head, new Uint8Array(data, 4 + length));
}

// ---- Traces ----------------------------------------------------------------------------------

byId("trace").onclick = async () => {
  const button = byId("trace");
  button.disabled = true;
  try {
    const response = await fetch("/trace?seconds=3", { method: "POST" });
    if (!response.ok) throw new Error(await response.text());
    const link = make("a", {
      href: URL.createObjectURL(await response.blob()),
      download: "crossdock.perfetto-trace",
    });
    link.click();
    URL.revokeObjectURL(link.href);
    const notes = response.headers.get("crossdock-notes");
    if (notes) byId("state").textContent = `trace: ${notes}`;
  } catch (error) {
    byId("state").textContent = `no trace: ${error.message}`;
  } finally {
    button.disabled = false;
  }
};

connect();
