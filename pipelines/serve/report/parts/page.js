// The page: its head, a section for each feed and each lane of joins, what was rejected, the epochs.

const report = JSON.parse(document.getElementById("data").textContent);

function spanOf(feeds) {
  const seen = feeds.filter((feed) => feed.begin !== undefined);
  if (!seen.length) return null;
  return [Math.min(...seen.map((feed) => feed.begin)), Math.max(...seen.map((feed) => feed.end))];
}

function between(begin, end) {
  const range = end - begin;
  return day(begin) === day(end)
    ? `${day(begin)}, ${clock(begin, range)} to ${clock(end, range)} UTC`
    : `${day(begin)} ${clock(begin, range)} to ${day(end)} ${clock(end, range)} UTC`;
}

const THEMES = { "": "Theme: system", light: "Theme: light", dark: "Theme: dark" };

function themeButton() {
  const button = make("button", { class: "button", type: "button", id: "theme" });
  const root = document.documentElement;
  const show = (theme) => {
    if (theme) root.dataset.theme = theme;
    else delete root.dataset.theme;
    button.textContent = THEMES[theme];
    redrawAll();
  };
  button.addEventListener("click", () => {
    const names = Object.keys(THEMES);
    show(names[(names.indexOf(root.dataset.theme || "") + 1) % names.length]);
  });
  show("");
  return button;
}

function figure(name, n, more) {
  return make("div", {}, make("dt", {}, name), make("dd", {}, number(n), make("small", {}, more)));
}

function head() {
  const feeds = report.feeds, span = spanOf(feeds);
  const sum = (of) => feeds.reduce((total, feed) => total + of(feed), 0);
  const entered = sum((feed) => feed.entered), left = sum((feed) => feed.left);
  const kinds = (feed) => Object.values(feed.transitions || {}).reduce((a, b) => a + b, 0);
  const matches = sum((feed) => feed.matches || 0), lanes = report.lanes;
  const pairs = lanes.reduce((total, lane) => total + lane.pairs, 0), now = lanes.reduce((total, lane) => total + lane.now.of, 0);
  const bands = lanes.some((lane) => lane.standing.band_join), windows = pairs || lanes.some((lane) => lane.standing.window_join);
  const rules = sum((feed) => feed.rules) + lanes.reduce((total, lane) => total + lane.rules, 0);
  const turned = (feed) => feed.quarantine.reduce((total, each) => total + each.rows, 0);
  const asked = report.asked ? `${report.asked[0].toUpperCase()}${report.asked.slice(1)}` : "The whole lake";
  document.getElementById("head").append(
    make("div", { class: "over" }, make("span", {}, "Fencepost report"), themeButton()),
    make("h1", {}, report.lake),
    make("p", { class: "lead" }, span ? `${asked}: ${between(...span)}.` : `${asked}: no data.`),
    make("dl", { class: "figures" },
      figure("Tuples", sum((feed) => feed.tuples), `of ${counted(sum((feed) => feed.streams), "stream", "streams")}`),
      figure("Active rules", rules, lanes.length ? "joins among them" : "as registered now"),
      figure("Crossings", entered + left, `${number(entered)} In, ${number(left)} Out`),
      figure("Transitions", sum(kinds), "what crossings turned into"),
      ...(matches ? [figure("Matches", matches, "tuples that satisfied a rule")] : []),
      ...(windows ? [figure("Pairs", pairs, "of window joins")] : []),
      ...(bands ? [figure("In a band now", now, "pairs of streams")] : []),
      ...(lanes.some((lane) => lane.standing.near_join) ? [figure("Near now", lanes.reduce((total, lane) => total + lane.near.of, 0), "pairs of streams")] : []),
      figure("Rejected rows", sum(turned), report.refused.of ? `and ${counted(report.refused.of, "delivery", "deliveries")} refused whole` : "in quarantine")),
    make("nav", { "aria-label": "Sections" }, ...feeds.map((feed) => make("a", { href: `#feed-${feed.name}` }, feed.name)),
      ...lanes.map((lane) => make("a", { href: `#lane-${lane.left}-${lane.right}` }, `${lane.left} and ${lane.right}`)), make("a", { href: "#quarantine" }, "quarantine"), make("a", { href: "#epochs" }, "epochs")));
}

// What watches a feed, as text.
function watched(feed) {
  const joins = report.lanes.filter((lane) => feed.joins.includes(lane.name)), joined = joins.reduce((total, lane) => total + lane.rules, 0);
  const parts = [];
  if (feed.rules) parts.push(counted(feed.rules, "rule", "rules"));
  if (joined) parts.push(`${counted(joined, "join", "joins")} with ${joins.filter((lane) => lane.rules).map((lane) => (lane.left === feed.name ? lane.right : lane.left)).join(", ")}`);
  return { words: parts.join(" and "), joins: joined };
}

function feedSection(feed) {
  const section = make("section", { id: `feed-${feed.name}` }, make("h2", {}, feed.name));
  if (feed.begin === undefined) {
    const why = report.whole ? "Neither tuples nor crossings yet: `fencepost run` loads what has landed." : "Neither tuples nor crossings in this range.";
    section.append(make("p", { class: "empty" }, why));
    return section;
  }
  const by = watched(feed), axes = feed.axes.map((axis) => measured(axis, feed.units)).join(", ");
  const found = feed.rules ? `: ${number(feed.entered)} In, ${number(feed.left)} Out${feed.matches ? `, ${counted(feed.matches, "match", "matches")}` : ""}` : "";
  section.append(make("p", { class: "lead" },
    `${counted(feed.tuples, "tuple", "tuples")} of ${counted(feed.streams, "stream", "streams")} with ${axes}, watched by ${by.words || "no rule"}${found}.`));
  section.append(feed.map ? new TownMap(feed.map, feed).element : new Charts(feed.chart, feed).element);
  if (feed.over_time) {
    section.append(make("div", { class: "two" }, overTime(feed.over_time, "Crossings", ["In", "Out"]), transitionBars(feed.transitions)),
      make("div", { class: "two lists" }, busiest(feed.queries, "Query", "Streams"), busiest(feed.by_stream, "Stream", "Queries")));
  } else if (feed.rules) {
    section.append(make("p", { class: "note" }, "No rule was crossed."));
  } else if (!by.joins) {
    section.append(make("p", { class: "note" }, "No rule watches this feed: `fencepost queries import FILE` registers some."));
  }
  return section;
}

// Paper has no pointer: details are opened for printing.
function forPaper() {
  let opened = [];
  addEventListener("beforeprint", () => {
    opened = [...document.querySelectorAll("details:not([open])")];
    for (const each of opened) each.open = true;
  });
  addEventListener("afterprint", () => { for (const each of opened) each.open = false; });
}

head();
forPaper();
document.getElementById("main").append(...report.feeds.map(feedSection), ...report.lanes.map(laneSection), quarantine(report.feeds, report.refused), epochs(report.feeds, report.lanes));
document.getElementById("foot").append(`Made ${moment(report.made)} by Fencepost ${report.version}. All times are UTC. In: a stream entered what a rule describes; Out: it left. All figures come from one snapshot of the lake.`);
