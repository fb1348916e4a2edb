// Counts as bars: crossings over time, and transitions by type.

const KINDS = {
  pass_through: ["Pass-through", "in, and out again within t", "one"],
  short_absence: ["Short absence", "out, and back within t", "two"],
  stay: ["Stay", "in, and not out within t", "three"],
  departure: ["Departure", "out, and not back within t", "four"],
};

function overTime(counts) {
  const most = Math.max(1, ...counts.I, ...counts.O);
  const bars = make("div", { class: "bars", role: "img", "aria-label": `Crossings per ${counts.unit}, at most ${number(most)} of one kind` });
  const range = counts.step * counts.I.length;
  counts.I.forEach((entered, at) => {
    const up = make("i", { class: "up" }), down = make("i", { class: "down" });
    up.style.height = `${(100 * entered) / most}%`;
    down.style.height = `${(100 * counts.O[at]) / most}%`;
    if (!counts.O[at]) down.style.border = "0";
    const bar = make("div", {}, up, down);
    bar.addEventListener("pointermove", (event) => tell([moment(counts.begin + at * counts.step), `${number(entered)} In · ${number(counts.O[at])} Out, in one ${counts.unit}`], event.clientX, event.clientY));
    bars.append(bar);
  });
  bars.addEventListener("pointerleave", () => tell(null));
  const marks = timeTicks(counts.begin, counts.begin + range - counts.step, 5).map((us) => {
    const mark = make("span", {}, tickText(us, range));
    mark.style.left = `${(100 * (us - counts.begin + counts.step / 2)) / range}%`;
    return mark;
  });
  return make("div", {}, make("h3", {}, `Crossings per ${counts.unit}`),
    make("div", { class: "legend" }, make("span", {}, make("i", { class: "c-in" }, "▲"), "In, upward"), make("span", {}, make("i", { class: "c-out" }, "▽"), "Out, downward"), make("span", {}, `highest bar ${number(most)}`)),
    bars, make("div", { class: "axis" }, ...marks));
}

function transitionBars(counts) {
  const total = Object.values(counts).reduce((a, b) => a + b, 0), most = Math.max(1, ...Object.values(counts));
  const rows = Object.entries(KINDS).map(([kind, [name, meaning, colour]]) => {
    const rod = make("span", { class: "rod" });
    rod.style.width = `${(100 * counts[kind]) / most}%`;
    rod.style.background = `var(--${colour})`;
    const share = total ? `  ${Math.round((100 * counts[kind]) / total)} %` : "";
    return make("div", {}, make("span", {}, `${name} `, make("span", { class: "muted" }, meaning)), make("span", {}, make("b", {}, number(counts[kind])), make("span", { class: "muted" }, share)), rod);
  });
  const none = total ? null : make("p", { class: "note" }, "None: no rule that was crossed has a `within`, or nothing is decided yet.");
  return make("div", {}, make("h3", {}, "Transitions by type"), make("div", { class: "kinds" }, ...rows), none);
}
