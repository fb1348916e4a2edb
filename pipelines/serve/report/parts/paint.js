// Canvases: sharp on any screen, in the theme's colours, redrawn when either changes; and the tooltip.

const drawn = new Set();
const probe = make("span", { hidden: true });
document.body.append(probe);
let colours = new Map();

// The current colour of a name in the style sheet.
function ink(name) {
  if (!colours.has(name)) {
    probe.style.color = `var(--${name})`;
    colours.set(name, getComputedStyle(probe).color);
  }
  return colours.get(name);
}

// The same with an opacity: paper and screens agree on it, unlike on globalAlpha.
function seeThrough(name, share) {
  return ink(name).replace("rgb(", "rgba(").replace(")", `, ${share})`);
}

function redrawAll() {
  colours = new Map();
  for (const draw of drawn) draw();
}

// Give a canvas that calls draw(context, width, height) when needed; redraw() requests it.
function canvas(stage, attributes, draw) {
  const element = make("canvas", attributes);
  stage.append(element);
  const context = element.getContext("2d");
  let asked = false;
  function now() {
    asked = false;
    const width = stage.clientWidth, height = stage.clientHeight;
    const ratio = Math.max(1, window.devicePixelRatio || 1);
    if (!width || !height) return;
    if (element.width !== Math.round(width * ratio) || element.height !== Math.round(height * ratio)) {
      element.width = Math.round(width * ratio);
      element.height = Math.round(height * ratio);
    }
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    draw(context, width, height);
  }
  function redraw() {
    if (!asked) requestAnimationFrame(now);
    asked = true;
  }
  drawn.add(now);
  new ResizeObserver(redraw).observe(stage);
  return { element, redraw, now };
}

// A part of a picture that is drawn again only when its key, the theme or the screen changes.
function layer() {
  const sheet = document.createElement("canvas"), context = sheet.getContext("2d");
  let before = "", inks = null;
  return (onto, key, draw) => {
    const ratio = onto.getTransform().a, { width, height } = onto.canvas;
    if (before !== key || inks !== colours || sheet.width !== width || sheet.height !== height) {
      [sheet.width, sheet.height, before, inks] = [width, height, key, colours];
      context.setTransform(ratio, 0, 0, ratio, 0, 0);
      draw(context);
    }
    onto.drawImage(sheet, 0, 0, width / ratio, height / ratio);
  };
}

matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redrawAll);
matchMedia("print").addEventListener("change", redrawAll);

// In is a filled triangle that points up, Out a hollow one that points down.
function triangle(context, x, y, size, entered) {
  const tip = entered ? -size : size;
  context.moveTo(x, y + tip);
  context.lineTo(x + size, y - tip * 0.8);
  context.lineTo(x - size, y - tip * 0.8);
  context.closePath();
}

function triangles(context, places, size, entered) {
  context.beginPath();
  for (const [x, y] of places) triangle(context, x, y, size, entered);
  context.lineJoin = "round";
  if (entered) {
    context.fillStyle = ink("in");
    context.fill();
  } else {
    context.fillStyle = ink("raised");
    context.strokeStyle = ink("out");
    context.lineWidth = 1.5;
    context.fill();
    context.stroke();
  }
}

// Round values on an axis, about as many as requested.
function ticks(low, high, many) {
  const raw = (high - low) / many;
  if (!(raw > 0) || !Number.isFinite(raw)) return [low];
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((n) => n * power).find((each) => each >= raw);
  const first = Math.ceil(low / step) * step, places = [];
  for (let i = 0; first + i * step <= high && i < 50; i += 1) places.push(first + i * step);
  return places;
}

const TIMES = [SECOND, 5 * SECOND, 15 * SECOND, MINUTE, 5 * MINUTE, 15 * MINUTE, 30 * MINUTE, HOUR, 2 * HOUR, 3 * HOUR, 6 * HOUR, 12 * HOUR, DAY, 2 * DAY, 7 * DAY, 30 * DAY, 90 * DAY, 365 * DAY];

function timeTicks(begin, end, many) {
  const step = TIMES.find((each) => (end - begin) / each <= many) || ticks(0, end - begin, many)[1] || 1;
  const places = [];
  for (let at = Math.ceil(begin / step) * step; at <= end && places.length < 50; at += step) places.push(at);
  return places;
}

const tip = document.getElementById("tip");

// Show these lines beside a place on the screen; null hides them.
function showTip(lines, x, y) {
  tip.hidden = !lines;
  if (!lines) return;
  tip.replaceChildren(...lines.map((line, at) => make("p", {}, at ? line : make("b", {}, line))));
  const box = tip.getBoundingClientRect();
  const left = x + 14 + box.width > innerWidth - 8 ? x - 14 - box.width : x + 14;
  const top = y + 14 + box.height > innerHeight - 8 ? y - 14 - box.height : y + 14;
  tip.style.transform = `translate(${Math.max(8, left)}px, ${Math.max(8, top)}px)`;
}

addEventListener("scroll", () => showTip(null), { passive: true });
