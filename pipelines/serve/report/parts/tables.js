// Lists: the busiest queries and streams, rejected rows, the epochs.

function table(caption, head, rows) {
  const cell = (tag, column, content) => make(tag, { class: column[1] || null, scope: tag === "th" ? "col" : null }, content);
  return make("div", { class: "scroll" }, make("table", {}, caption ? make("caption", {}, caption) : null,
    make("thead", {}, make("tr", {}, ...head.map((column) => cell("th", column, column[0])))),
    make("tbody", {}, ...rows.map((row) => make("tr", {}, ...row.map((content, at) => cell("td", head[at], content)))))));
}

// In and Out side by side, as bars.
function pairBar(entered, left, most) {
  const bar = make("span", { class: "pair" }), one = make("i", { class: "in" }), other = make("i", { class: "out" });
  one.style.width = `${(100 * entered) / most}%`;
  other.style.width = `${(100 * left) / most}%`;
  bar.append(one, other);
  return bar;
}

function busiest(list, what, others) {
  const most = Math.max(1, ...list.rows.map((row) => row[1] + row[2]));
  const head = [[what, ""], ["In", "n"], ["Out", "n"], [others, "n"], ["Pass", "n wide"], ["Short", "n wide"], ["Stay", "n wide"], ["Left", "n wide"]];
  const rows = list.rows.map(([id, entered, left, many, ...kinds]) => [
    make("span", {}, make("span", { class: "id" }, id), pairBar(entered, left, most)), ...[entered, left, many, ...kinds].map(number)]);
  return make("div", {}, make("h3", {}, `Busiest ${what.toLowerCase() === "query" ? "queries" : "streams"}`), table(`${ofAll(list.rows.length, list.of)} that crossed`, head, rows));
}

function refusals(refused) {
  if (!refused.of) return null;
  const head = [["Found", "wide"], ["Feed", ""], ["Delivery", ""], ["Reason", ""], ["Detail", "raw"], ["Answer", ""]];
  const rows = refused.rows.map(([feed, path, reason, detail, answer, found]) => [found === null ? "" : moment(found), feed, make("span", { class: "id" }, path), reason, detail,
    answer || make("span", { class: "stale" }, "unanswered")]);
  const hint = refused.unanswered ? ` ${number(refused.unanswered)} unanswered: a corrected file answers it, or fencepost quarantine dismiss.` : "";
  return make("div", { class: "one" }, make("h3", {}, "Refused deliveries"), table(`${ofAll(refused.rows.length, refused.of)}: none of their rows was loaded.${hint}`, head, rows));
}

function quarantine(feeds, refused) {
  const lists = feeds.filter((feed) => feed.quarantine.length).map((feed) => {
    const list = make("div", {}, make("h3", {}, feed.name)), most = Math.max(1, ...feed.quarantine.map((each) => each.rows));
    for (const { reason, rows, samples } of feed.quarantine) {
      const rod = make("span", { class: "rod" });
      rod.style.width = `${(100 * rows) / most}%`;
      rod.style.background = "var(--two)";
      const head = [["File", "wide"], ["Line", "n wide"], ["Why", ""], ["Record", "raw"]];
      const shown = samples.map(([path, line, detail, raw]) => [make("span", { class: "id" }, path), number(line), detail, raw]);
      list.append(make("details", {}, make("summary", {}, make("span", {}, `${reason} `, make("b", {}, number(rows))), rod),
        table(`the first ${shown.length} of ${counted(rows, "row", "rows")}`, head, shown)));
    }
    return list;
  });
  return make("section", { id: "quarantine" }, make("h2", {}, "Quarantine"),
    make("p", { class: "lead" }, lists.length ? "Rejected rows, by feed and reason. Each is kept: fencepost quarantine show lists them." : refused.of ? "No row of the other deliveries was rejected." : "No row was rejected."),
    ...(lists.length ? [make("div", { class: "two" }, ...lists)] : []), refusals(refused));
}

const STATES = {
  done: ["done", ""],
  stale: ["stale: to be re-evaluated", "stale"],
  open: ["planned, not done", "stale"],
};

function phases(group, longest) {
  const stack = make("span", { class: "stack" }), names = Object.keys(PHASES), parts = Object.entries(group.seconds);
  for (const [name, took] of parts) {
    const part = make("i", { class: `p${names.indexOf(name)}` });
    part.style.width = `${(100 * took) / longest}%`;
    stack.append(part);
  }
  const tasks = Object.entries(group.within).map(([name, took]) => `${name} ${seconds(took)}`);
  stack.addEventListener("pointermove", (event) => showTip(["Where the time went", ...parts.map(([name, took]) => `${name}: ${seconds(took)}`), ...(tasks.length ? [`in tasks, side by side: ${tasks.join(", ")}`] : [])], event.clientX, event.clientY));
  stack.addEventListener("pointerleave", () => showTip(null));
  return stack;
}

const PHASES = { plan: "plan", prepare: "prepare", job: "read, evaluate, write", commit: "commit" };

function took(group) { return Object.values(group.seconds).reduce((a, b) => a + b, 0); }

function epochTable(lane) {
  const state = lane.state, longest = Math.max(1e-3, ...state.groups.map(took));
  const head = [["Epochs", ""], ["Partitions", "wide"], ["State", ""], ["Rows", "n"], [lane.found, "n wide"], ["Generation", "n wide"], ["Watermark", "wide"], ["Time", ""]];
  const rows = state.groups.map((group) => {
    const [words, kind] = STATES[group.state];
    return [group.first === group.last ? number(group.first) : `${number(group.first)}–${number(group.last)}`, group.keys.join(" – "), make("span", { class: kind || null }, words),
      number(group.rows), number(group.found), number(group.generation), group.watermark === null ? "" : moment(group.watermark),
      make("span", {}, took(group) ? seconds(took(group)) : "", phases(group, longest))];
  });
  const facts = [counted(state.epochs, "epoch", "epochs"), state.watermark === null ? "no watermark yet" : `watermark ${moment(state.watermark)}`,
    state.lag ? `${counted(state.lag, "delivery", "deliveries")} not evaluated yet` : "up to date"];
  if (state.waiting) facts.push(`${counted(state.waiting, "tuple", "tuples")} waiting for earlier ones`);
  const stale = state.stale ? make("p", { class: "stale" }, `${counted(state.stale, "epoch is", "epochs are")} stale: \`fencepost run\` re-evaluates them.`) : null;
  return make("div", {}, make("h3", {}, lane.name), make("p", { class: "note" }, facts.join(" · ")), stale,
    rows.length ? table(`${rows.length < state.of_groups ? `The newest ${ofAll(rows.length, state.of_groups)} groups. ` : ""}Epochs in one row were committed together.`, head, rows) : null);
}

function epochs(feeds, lanes) {
  const keys = Object.values(PHASES).map((name, at) => make("span", {}, make("i", { class: `key p${at}` }), name));
  const all = [...feeds.map((feed) => ({ ...feed, found: "Crossings" })), ...lanes.map((lane) => ({ ...lane, found: "Pairs, changes" }))];
  return make("section", { id: "epochs" }, make("h2", {}, "Epochs"), make("p", { class: "lead" }, "What was evaluated together, how much it was, and where the time went."),
    make("div", { class: "legend" }, ...keys), ...all.map((lane) => { const part = epochTable(lane); part.className = "epochs"; return part; }));
}
