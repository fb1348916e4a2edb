// The page: its head, a section for each feed, what was turned away, and the epochs.

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
  const matches = sum((feed) => feed.matches || 0);
  const turned = (feed) => feed.quarantine.reduce((total, each) => total + each.rows, 0);
  const asked = report.asked ? `${report.asked[0].toUpperCase()}${report.asked.slice(1)}` : "The whole lake";
  document.getElementById("head").append(
    make("div", { class: "over" }, make("span", {}, "Fencepost report"), themeButton()),
    make("h1", {}, report.lake),
    make("p", { class: "lead" }, span ? `${asked}: ${between(...span)}.` : `${asked}: nothing happened in it.`),
    make("dl", { class: "figures" },
      figure("Tuples", sum((feed) => feed.tuples), `of ${counted(sum((feed) => feed.streams), "stream", "streams")}`),
      figure("Standing rules", sum((feed) => feed.rules), "as registered now"),
      figure("Crossings", entered + left, `${number(entered)} In, ${number(left)} Out`),
      figure("Transitions", sum(kinds), "what crossings turned into"),
      ...(matches ? [figure("Matches", matches, "tuples that a rule held for")] : []),
      figure("In quarantine", sum(turned), "rows that were not taken")),
    make("nav", { "aria-label": "Sections" }, ...feeds.map((feed) => make("a", { href: `#feed-${feed.name}` }, feed.name)), make("a", { href: "#quarantine" }, "quarantine"), make("a", { href: "#epochs" }, "epochs")));
}

function feedSection(feed) {
  const section = make("section", { id: `feed-${feed.name}` }, make("h2", {}, feed.name));
  if (feed.begin === undefined) {
    const why = report.whole ? "Neither tuples nor crossings yet: `fencepost run` takes in what has landed." : "Neither tuples nor crossings in this range.";
    section.append(make("p", { class: "empty" }, why));
    return section;
  }
  section.append(make("p", { class: "lead" },
    `${counted(feed.tuples, "tuple", "tuples")} of ${counted(feed.streams, "stream", "streams")} on ${feed.axes.join(", ")}, held against ${counted(feed.rules, "standing rule", "standing rules")}: ${number(feed.entered)} In, ${number(feed.left)} Out${feed.matches ? `, ${counted(feed.matches, "match", "matches")}` : ""}.`));
  section.append(feed.map ? new TownMap(feed.map, feed.name).element : new Charts(feed.chart, feed.name).element);
  if (feed.over_time) {
    section.append(make("div", { class: "two" }, overTime(feed.over_time), transitionBars(feed.transitions)),
      make("div", { class: "two" }, busiest(feed.queries, "Query", "Streams"), busiest(feed.by_stream, "Stream", "Queries")));
  } else {
    section.append(make("p", { class: "note" }, feed.rules ? "No rule was crossed." : "No rule watches this feed: `fencepost queries import FILE` registers some."));
  }
  return section;
}

head();
document.getElementById("main").append(...report.feeds.map(feedSection), quarantine(report.feeds), epochs(report.feeds));
document.getElementById("foot").append(`Made ${moment(report.made)} by Fencepost ${report.version}. All times are UTC. In: a stream entered what a rule describes; Out: it left. Everything on this page is of one moment of the lake.`);
