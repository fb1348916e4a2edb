// Counts as bars: crossings over time, and transitions by type.

const KINDS = {
  pass_through: ["Pass-through", "in, and out again within t", "one"],
  short_absence: ["Short absence", "out, and back within t", "two"],
  stay: ["Stay", "in, and not out within t", "three"],
  departure: ["Departure", "out, and not back within t", "four"],
};

// Bars upward, and where there are two kinds, downward; `names` says which.
function overTime(counts, title, names) {
  const down = counts.down || [], most = Math.max(1, ...counts.up, ...down);
  const bars = make("div", { class: names.length > 1 ? "bars" : "bars up-only", role: "img", "aria-label": `${title} per ${counts.unit}, at most ${number(most)}` });
  const range = counts.step * counts.up.length;
  counts.up.forEach((above, at) => {
    const up = make("i", { class: "up" });
    up.style.height = `${(100 * above) / most}%`;
    const bar = make("div", {}, up), said = [`${number(above)} ${names[0]}`];
    if (names.length > 1) {
      const below = make("i", { class: "down" });
      below.style.height = `${(100 * down[at]) / most}%`;
      if (!down[at]) below.style.border = "0";
      bar.append(below);
      said.push(`${number(down[at])} ${names[1]}`);
    }
    bar.addEventListener("pointermove", (event) => showTip([moment(counts.begin + at * counts.step), `${said.join(" · ")} in one ${counts.unit}`], event.clientX, event.clientY));
    bars.append(bar);
  });
  bars.addEventListener("pointerleave", () => showTip(null));
  const marks = timeTicks(counts.begin, counts.begin + range - counts.step, 5).map((us) => {
    const mark = make("span", {}, tickText(us, range));
    mark.style.left = `${(100 * (us - counts.begin + counts.step / 2)) / range}%`;
    return mark;
  });
  const key = (mark, kind, text) => make("span", {}, make("i", { class: kind }, mark), text);
  const legend = names.length > 1 ? [key("▲", "c-in", `${names[0]}, upward`), key("▽", "c-out", `${names[1]}, downward`)] : [];
  return make("div", {}, make("h3", {}, `${title} per ${counts.unit}`),
    make("div", { class: "legend" }, ...legend, make("span", {}, `highest bar ${number(most)}`)),
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
