// How numbers, times and values read, and how elements are made.
// Law: whatever comes from the lake becomes text, never markup.

const SECOND = 1e6, MINUTE = 60 * SECOND, HOUR = 60 * MINUTE, DAY = 24 * HOUR;
const whole = new Intl.NumberFormat("en-US");

function number(n) { return whole.format(n); }

function counted(n, one, several) { return `${number(n)} ${n === 1 ? one : several}`; }

// "40 of 2,000", "all 40", "1"; with a noun "40 of 2,000 streams", "all 40 streams", "1 stream", "no streams".
function ofAll(shown, all, noun = "") {
  const many = noun ? ` ${noun}s` : "", one = noun ? ` ${noun}` : "";
  if (shown < all) return `${number(shown)} of ${number(all)}${many}`;
  return all > 1 ? `all ${number(all)}${many}` : all ? `1${one}` : noun ? `no${many}` : "0";
}

function iso(us) { return new Date(us / 1000).toISOString(); }

function day(us) { return iso(us).slice(0, 10); }

// To the minute, or finer where the range is short.
function clock(us, range) {
  const text = iso(us);
  return range < 10 * SECOND ? text.slice(11, 23) : range < 3 * HOUR ? text.slice(11, 19) : text.slice(11, 16);
}

function moment(us) { return `${iso(us).slice(0, 19).replace("T", " ")}Z`; }

// On an axis: the clock within a day or two, else the date.
function tickText(us, range) { return range > 2.5 * DAY ? day(us).slice(range > 300 * DAY ? 0 : 5) : clock(us, Math.max(range, 3 * HOUR)); }

function value(v, span) {
  if (v === null) return "";
  const digits = span > 0 ? Math.min(8, Math.max(0, 3 - Math.floor(Math.log10(span)))) : 2;
  return Math.abs(v) >= 1e9 || (v !== 0 && Math.abs(v) < 1e-4)
    ? v.toPrecision(5)
    : v.toLocaleString("en-US", { maximumFractionDigits: digits });
}

function plainValue(v) { return v === null ? "" : v.toLocaleString("en-US", { maximumFractionDigits: 6 }); }

// "price (USD)", or "price".
function measured(axis, units) { return units && units[axis] ? `${axis} (${units[axis]})` : axis; }

function withUnit(text, unit) { return unit && text !== "" ? `${text} ${unit}` : text; }

function duration(us) {
  for (const [unit, name] of [[DAY, "d"], [HOUR, "h"], [MINUTE, "min"], [SECOND, "s"], [1000, "ms"]]) {
    if (us >= unit) return `${+(us / unit).toFixed(1)} ${name}`;
  }
  return `${us} µs`;
}

function seconds(s) { return s >= 100 ? `${Math.round(s)} s` : s >= 0.1 ? `${s.toFixed(1)} s` : `${Math.round(s * 1000)} ms`; }

// make("p", {class: "note"}, "text", element): texts become text nodes.
function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, given] of Object.entries(attributes)) {
    if (given !== null && given !== false) element.setAttribute(name, given === true ? "" : given);
  }
  element.append(...children.filter((child) => child !== null));
  return element;
}

// The payload of a crossing, if its feed has one, as lines of a tooltip.
function payload(marks, i) { return marks.said && marks.payload[marks.said[i]] ? [marks.payload[marks.said[i]]] : []; }

// From differences back to values.
function summed(differences) {
  const values = new Float64Array(differences.length);
  let sum = 0;
  for (let i = 0; i < values.length; i += 1) values[i] = sum += differences[i];
  return values;
}

// How many of the ascending values are not above the limit.
function upTo(values, limit) {
  let low = 0, high = values.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (values[middle] <= limit) low = middle + 1;
    else high = middle;
  }
  return low;
}
