// A lane of joins: pairs over time, changes over time, current pairs, the busiest joins.

const JOIN_KINDS = { window_join: "window join", band_join: "band join", near_join: "near join" };

function joinCounts(lane) {
  const parts = Object.entries(JOIN_KINDS).filter(([kind]) => lane.standing[kind]).map(([kind, name]) => counted(lane.standing[kind], name, `${name}s`));
  return parts.length ? parts.join(" and ") : "no active join";
}

function busiestJoins(list) {
  const most = Math.max(1, ...list.rows.map((row) => row.paired + row.came_in + row.went_out));
  const head = [["Join", ""], ["Kind", "wide"], ["Pairs", "n"], ["In", "n"], ["Out", "n"], ["Now", "n"], ["Left", "n wide"], ["Right", "n wide"]];
  const rows = list.rows.map((row) => {
    const window = row.window ? ` · window ${row.window}` : "", ended = row.ended ? ` · version ${row.version}, no longer active` : "";
    const bar = pairBar(row.paired + row.came_in, row.went_out, most);
    const asks = make("span", { class: "asks" }, `${row.asks}${window}${ended}`);
    const band = row.kind !== "window_join";
    return [make("span", {}, make("span", { class: "id" }, row.id), asks, bar), JOIN_KINDS[row.kind] || row.kind,
      band ? "" : number(row.paired), ...(band ? [row.came_in, row.went_out, row.in_now].map(number) : ["", "", ""]), number(row.lefts), number(row.rights)];
  });
  return make("div", {}, make("h3", {}, "Busiest joins"), table(`${ofAll(list.rows.length, list.of)}. In and Out: pairs of streams that came into a band, or near each other, and left; Now: those still there; Left and Right: streams of each feed among them.`, head, rows));
}

function couples(lane) {
  const head = [[lane.left, ""], [lane.right, ""], ["Joins", "n"], ["Pairs", "n"], ["In", "n"], ["Out", "n"]];
  const rows = lane.couples.rows.map(([left, right, ...counts]) => [make("span", { class: "id" }, left), make("span", { class: "id" }, right), ...counts.map(number)]);
  return make("div", {}, make("h3", {}, "Busiest pairs of streams"), table(`${ofAll(lane.couples.rows.length, lane.couples.of)}`, head, rows));
}

function holdingNow(lane) {
  const now = lane.now, title = make("h3", {}, "In a band now");
  if (!now.rows.length) return make("div", {}, title, make("p", { class: "note" }, "No pair of streams is in a band now."));
  const head = [["Join", ""], [lane.left, ""], [lane.right, ""], ["Since", "wide"], ["Left", "n wide"], ["Right", "n wide"], ["Left − right", "n"]];
  const rows = now.rows.map(([query, left, right, since, one, other, apart, unit, otherUnit]) => [
    ...[query, left, right].map((id) => make("span", { class: "id" }, id)), moment(since),
    withUnit(plainValue(one), unit), withUnit(plainValue(other), otherUnit), withUnit(plainValue(apart), unit === otherUnit ? unit : null)]);
  return make("div", {}, title, table(`${ofAll(now.rows.length, now.of)}${now.rows.length < now.of ? ", the newest" : ""}, each with its values at the end of the newest epoch.`, head, rows));
}

function nearNow(lane) {
  const near = lane.near, title = make("h3", {}, "Near each other now");
  if (!near.rows.length) return make("div", {}, title, make("p", { class: "note" }, "No two streams are near each other now."));
  const rows = near.rows.map(([query, left, right, since]) => [...[query, left, right].map((id) => make("span", { class: "id" }, id)), moment(since)]);
  return make("div", {}, title, table(`${ofAll(near.rows.length, near.of)}${near.rows.length < near.of ? ", the newest" : ""}.`, [["Join", ""], [lane.left, ""], [lane.right, ""], ["Since", ""]], rows));
}

function laneSection(lane) {
  const section = make("section", { id: `lane-${lane.left}-${lane.right}` }, make("h2", {}, `${lane.left} and ${lane.right}`));
  const found = lane.pairs + lane.came_in + lane.went_out;
  const facts = [];
  if (lane.standing.window_join || lane.pairs) facts.push(counted(lane.pairs, "pair", "pairs"));
  const bands = lane.standing.band_join || lane.now.of, near = lane.standing.near_join || lane.near.of, both = [bands && "in a band", near && "near each other"].filter(Boolean).join(" or ");
  if (both || lane.came_in) facts.push(`${number(lane.came_in)} pairs of streams came in and ${number(lane.went_out)} went out`, `${number(lane.now.of + lane.near.of)} are ${both || "in"} now`);
  section.append(make("p", { class: "lead" }, `${lane.name}: ${joinCounts(lane)}${facts.length ? `; ${facts.join(", ")}` : ""}.`));
  if (!found) section.append(make("p", { class: "empty" }, report.whole ? "Nothing joined yet." : "Nothing joined in this range."));
  const charts = [];
  if (lane.pairs_over_time) charts.push(overTime(lane.pairs_over_time, "Pairs", ["Pairs"]));
  if (lane.changes_over_time) charts.push(overTime(lane.changes_over_time, near ? "Pairs of streams" : "Changes of bands", ["In", "Out"]));
  if (charts.length) section.append(make("div", { class: "two" }, ...charts));
  if (lane.by_registration) section.append(make("p", { class: "note" }, `${counted(lane.by_registration, "pair was", "pairs were")} there when a join was registered; the bars leave ${lane.by_registration === 1 ? "it" : "them"} out.`));
  const parts = [...(lane.queries.rows.length ? [busiestJoins(lane.queries)] : []), ...(lane.standing.band_join ? [holdingNow(lane)] : []), ...(near ? [nearNow(lane)] : []), ...(found ? [couples(lane)] : [])];
  section.append(...parts.map((part) => { part.className = "one"; return part; }));
  return section;
}
