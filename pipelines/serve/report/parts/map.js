// A map: regions, tracks and crossings, with a time slider.
// Law: counts (so far, inside now) are of all streams; tracks and marks, of those shown.

const TAIL = PARTS / 48;
const PLAYING = 40;

class TownMap {
  constructor(map, feed) {
    this.map = map;
    this.units = feed.units;
    this.only = -1;
    this.range = map.end - map.begin;
    this.place = map.steps;
    this.marks = { ...map.marks, t: summed(map.marks.t) };
    this.leaps = map.leaps && { ...map.leaps, t: summed(map.leaps.t) };
    this.tracks = map.tracks.map((track) => ({ id: track.id, n: track.n, t: summed(track.t), x: summed(track.x), y: summed(track.y) }));
    this.held = map.rules.map((rule) => this.levels(rule.held));
    this.regions = new Regions(map, this.held);
    this.soFar = { I: summed(map.so_far.I), O: summed(map.so_far.O) };
    this.element = make("figure", { class: "map", "aria-label": `Map of ${feed.name}` });
    this.build(feed);
    this.choose(-1);
    this.moveTo(map.steps);
  }

  levels(pairs) {
    const row = new Int32Array(this.map.steps + 1);
    let place = 0, level = 0;
    for (let i = 0; i < pairs.length; i += 2) {
      row.fill(level, place, place + pairs[i]);
      place += pairs[i];
      level += pairs[i + 1];
    }
    return row.fill(level, place);
  }

  build(feed) {
    const name = feed.name, what = feed.crossed ? ["crossing", "crossings"] : ["tuple", "tuples"];
    this.what = what;
    const chooser = streamChooser(this.tracks.map((track) => track.id), this.tracks.map((track) => `${track.id}  ·  ${counted(track.n, ...what)}`),
      `${ofAll(this.tracks.length, this.tracks.length)} shown`, (at) => this.choose(at));
    this.title = make("h3", {});
    const stage = make("div", { class: "stage" });
    const hint = make("div", { class: "hint" }, "Ctrl + wheel zooms; so does the wheel after a click");
    this.picture = canvas(stage, { tabindex: 0, role: "img", "aria-label": `${name}: arrows pan, + and − zoom, 0 resets` }, (...all) => this.draw(...all));
    this.plane = new Plane(this.picture.element, hint, () => this.picture.redraw());
    this.view = new MapView(this.map, this.units, this.plane);
    this.still = layer();
    const button = (text, label, does) => {
      const made = make("button", { class: "button", type: "button", "aria-label": label, title: label }, text);
      made.addEventListener("click", does);
      return made;
    };
    stage.append(hint, make("div", { class: "zoom" },
      button("+", "Zoom in", () => this.plane.zoom(1.6)),
      button("−", "Zoom out", () => this.plane.zoom(1 / 1.6)),
      button("Reset", "Show the whole map", () => this.plane.reset())));
    this.slider = make("input", { type: "range", min: 0, max: this.map.steps, step: 1, "aria-label": `Time of ${name}` });
    this.slider.addEventListener("input", () => { this.stop(); this.moveTo(+this.slider.value); });
    this.play = button("▶ Play", "Play the day", () => (this.playing ? this.stop() : this.start()));
    this.now = make("output", {});
    this.summary = make("p", { class: "summary" });
    this.list = make("ol", {});
    const side = make("aside", { class: "fullest" }, make("h3", {}, "Inside at this time"), this.list);
    this.element.append(chooser.element, this.title, legend(this.leaps), make("div", { class: "map-room" },
      make("div", {}, stage, make("div", { class: "controls" }, this.play, this.slider, this.now), this.summary), side), this.caption());
    const point = (event) => { if (!this.plane.fingers.size) this.explain(event); };
    this.picture.element.addEventListener("pointermove", point);
    this.picture.element.addEventListener("pointerup", (event) => { if (this.plane.moved < 8) this.explain(event); });
    this.picture.element.addEventListener("pointerleave", (event) => { if (event.pointerType === "mouse") showTip(null); });
  }

  choose(at) {
    this.only = at;
    this.title.textContent = at < 0 ? `${this.map.axes.join(" and ")}: tracks and regions` : `Track of ${this.tracks[at].id}`;
    this.picture.element.dataset.stream = at < 0 ? "" : this.tracks[at].id;
    this.picture.redraw();
  }

  caption() {
    const map = this.map, kept = this.marks.type.length;
    const streams = `Tracks and crossings of ${ofAll(this.tracks.length, map.of_streams, "stream")}${this.tracks.length < map.of_streams ? `, those with most ${this.what[1]}` : ""}`;
    const marks = kept < map.of_marks ? `; ${number(kept)} of their ${number(map.of_marks)} crossings are drawn` : "";
    const rules = `; ${ofAll(map.rules.length, map.of_rules, "region")}${map.rules.length < map.of_rules ? ", the busiest" : ""}.`;
    return make("figcaption", {}, `${streams}${marks}${rules} Counts are of all streams; inside counts those that were seen entering or leaving.`);
  }

  // The place of the slider, which may lie between two steps while it plays.
  moveTo(place) {
    this.place = place;
    const step = Math.floor(place);
    this.us = this.map.begin + (this.range * place) / this.map.steps;
    const text = `${day(this.us)} ${clock(this.us, this.range)}Z`;
    this.slider.value = String(step);
    this.slider.setAttribute("aria-valuetext", text);
    this.now.textContent = text;
    this.shown = upTo(this.marks.t, (this.us - this.map.begin) / 1000);
    const inside = this.held.map((row, at) => [row[step], at]).filter(([n]) => n > 0).sort((a, b) => b[0] - a[0] || a[1] - b[1]);
    this.summary.replaceChildren(make("b", { class: "c-in" }, `${number(this.soFar.I[step])} In`), " and ", make("b", { class: "c-out" }, `${number(this.soFar.O[step])} Out`),
      ` so far · ${ofAll(inside.length, this.held.length, "region")} occupied`);
    this.fill(inside);
    this.picture.element.dataset.marks = String(this.shown);
    this.picture.redraw();
  }

  fill(inside) {
    const rows = inside.slice(0, 10);
    while (this.list.children.length < 10) this.list.append(make("li", {}, make("span", { class: "id" }), make("b", {}), make("span", { class: "rod" })));
    [...this.list.children].forEach((row, at) => {
      const [n, rule] = rows[at] || [0, -1];
      row.style.visibility = n ? "visible" : "hidden";
      row.children[0].textContent = n ? this.map.rules[rule].id : "";
      row.children[1].textContent = number(n);
      row.children[2].style.width = `${(100 * n) / this.regions.most}%`;
    });
  }

  start() {
    if (this.place >= this.map.steps) this.moveTo(0);
    this.playing = true;
    this.play.textContent = "❙❙ Pause";
    const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
    let before = performance.now();
    const frame = (now) => {
      if (!this.playing) return;
      if (!calm || now - before >= 500) {
        const on = calm ? Math.ceil(this.map.steps / 48) : ((now - before) / 1000 / PLAYING) * this.map.steps;
        before = now;
        this.moveTo(Math.min(this.map.steps, this.place + on));
        if (this.place >= this.map.steps) return void this.stop();
      }
      requestAnimationFrame(frame);
    };
    requestAnimationFrame(frame);
  }

  stop() {
    this.playing = false;
    this.play.textContent = "▶ Play";
  }

  sx(part) { return this.view.sx(part); }
  sy(part) { return this.view.sy(part); }

  draw(context, width, height) {
    const view = this.view;
    view.fit(width, height);
    this.still(context, view.key, (under) => {
      view.grid(under);
      this.regions.still(under, view);
    });
    this.regions.occupied(context, view, Math.floor(this.place));
    this.routes(context);
    if (this.leaps) this.leapt(context);
    this.crossings(context);
    this.movers(context);
    view.labels(context);
  }

  routes(context) {
    context.lineJoin = "round";
    const faint = this.only >= 0 ? 0.05 : this.plane.scale > 3 ? 0.22 : 0.1;
    this.trace(context, this.tracks.filter((_, at) => at !== this.only), faint, 1);
    if (this.only >= 0) this.trace(context, [this.tracks[this.only]], 0.6, 1.5);
  }

  trace(context, tracks, share, width) {
    context.strokeStyle = seeThrough("ink", share);
    context.lineWidth = width;
    context.beginPath();
    for (const track of tracks) {
      for (let i = 0; i < track.t.length; i += 1) {
        if (i) context.lineTo(this.sx(track.x[i]), this.sy(track.y[i]));
        else context.moveTo(this.sx(track.x[i]), this.sy(track.y[i]));
      }
    }
    context.stroke();
  }

  // The ways through a region between two tuples: dashed, from where they went in to where they left.
  leapt(context) {
    const leaps = this.leaps, shown = upTo(leaps.t, (this.us - this.map.begin) / 1000);
    context.strokeStyle = ink("two");
    context.lineWidth = this.view.w < 500 ? 2 : 3;
    context.setLineDash([5, 3]);
    context.beginPath();
    for (let i = 0; i < shown; i += 1) {
      if (!this.isShown(leaps.stream[i])) continue;
      context.moveTo(this.sx(leaps.lines[4 * i]), this.sy(leaps.lines[4 * i + 1]));
      context.lineTo(this.sx(leaps.lines[4 * i + 2]), this.sy(leaps.lines[4 * i + 3]));
    }
    context.stroke();
    context.setLineDash([]);
  }

  isShown(stream) { return this.only < 0 || this.only === stream; }

  crossings(context) {
    const marks = this.marks, ms = (this.us - this.map.begin) / 1000;
    const fresh = this.only >= 0 ? 0 : upTo(marks.t, ms - ((this.range / 1000) * TAIL) / PARTS);
    for (const type of ["O", "I"]) {
      context.beginPath();
      for (let i = 0; i < fresh; i += 1) {
        if (marks.type[i] === type && this.isShown(marks.stream[i])) context.rect(this.sx(marks.x[i]) - 1.25, this.sy(marks.y[i]) - 1.25, 2.5, 2.5);
      }
      context.globalAlpha = 0.38;
      context.lineWidth = 0.8;
      context.fillStyle = ink("in");
      context.strokeStyle = ink("out");
      if (type === "I") context.fill();
      else context.stroke();
      context.globalAlpha = 1;
    }
    for (const type of ["O", "I"]) {
      const places = [];
      for (let i = fresh; i < this.shown; i += 1) if (marks.type[i] === type && this.isShown(marks.stream[i])) places.push([this.sx(marks.x[i]), this.sy(marks.y[i])]);
      triangles(context, places, this.view.w < 500 ? 3.75 : 5, type === "I");
    }
  }

  // Where a stream is at a time, in parts; null before it was first seen.
  whereIs(track, part) {
    const next = upTo(track.t, part);
    if (!next) return null;
    const i = next - 1;
    if (next === track.t.length) return [track.x[i], track.y[i], i];
    const share = (part - track.t[i]) / (track.t[next] - track.t[i]);
    return [track.x[i] + share * (track.x[next] - track.x[i]), track.y[i] + share * (track.y[next] - track.y[i]), i];
  }

  movers(context) {
    const part = (PARTS * this.place) / this.map.steps;
    this.dots = [];
    context.strokeStyle = ink("ink");
    context.fillStyle = ink("ink");
    context.lineWidth = this.view.w < 500 ? 1.5 : 2;
    context.globalAlpha = 0.5;
    context.beginPath();
    for (const [at, track] of this.tracks.entries()) {
      if (!this.isShown(at)) continue;
      const here = this.whereIs(track, part);
      if (!here) continue;
      this.dots.push([track, this.sx(here[0]), this.sy(here[1])]);
      context.moveTo(this.sx(here[0]), this.sy(here[1]));
      for (let i = here[2]; i >= 0 && track.t[i] > part - TAIL; i -= 1) context.lineTo(this.sx(track.x[i]), this.sy(track.y[i]));
    }
    context.stroke();
    context.globalAlpha = 1;
    context.strokeStyle = ink("ground");
    context.lineWidth = 1.5;
    for (const [, x, y] of this.dots) {
      context.beginPath();
      context.arc(x, y, this.view.w < 500 ? 3 : 4, 0, 2 * Math.PI);
      context.fill();
      context.stroke();
    }
  }

  // The thing under the pointer: a crossing, a stream, or the smallest region.
  explain(event) {
    const { offsetX: x, offsetY: y } = event;
    showTip(this.crossingAt(x, y) || this.streamAt(x, y) || this.leapAt(x, y) || this.regionAt(x, y), event.clientX, event.clientY);
  }

  crossingAt(x, y) {
    const marks = this.marks;
    let best = -1, near = 64;
    for (let i = 0; i < this.shown; i += 1) {
      if (!this.isShown(marks.stream[i])) continue;
      const far = (this.sx(marks.x[i]) - x) ** 2 + (this.sy(marks.y[i]) - y) ** 2;
      if (far <= near) [best, near] = [i, far];
    }
    if (best < 0) return null;
    const rule = marks.rule[best];
    const id = rule < 0 ? this.map.others[-1 - rule] : this.map.rules[rule].id;
    const entered = marks.type[best] === "I";
    return [`${entered ? "▲ In" : "▽ Out"}: ${id}`, `${this.tracks[marks.stream[best]].id} ${entered ? "entered" : "left"} at ${moment(this.map.begin + marks.t[best] * 1000)}`, ...payload(marks, best)];
  }

  leapAt(x, y) {
    const leaps = this.leaps, shown = leaps ? upTo(leaps.t, (this.us - this.map.begin) / 1000) : 0;
    for (let i = 0; i < shown; i += 1) {
      if (!this.isShown(leaps.stream[i])) continue;
      const [ax, ay, bx, by] = [0, 2].flatMap((end) => [this.sx(leaps.lines[4 * i + end]), this.sy(leaps.lines[4 * i + end + 1])]);
      if (farFrom(x, y, ax, ay, bx, by) > 5) continue;
      return [`Leapt through: ${leaps.names[leaps.rule[i]]}`,
        `${this.tracks[leaps.stream[i]].id} between two tuples, at ${moment(this.map.begin + leaps.t[i] * 1000)} for about ${duration(leaps.inside[i] * 1000)}`];
    }
    return null;
  }

  streamAt(x, y) {
    const found = this.dots.find(([, dx, dy]) => (dx - x) ** 2 + (dy - y) ** 2 <= 64);
    return found ? [found[0].id, `${counted(found[0].n, ...this.what)} in all`] : null;
  }

  regionAt(x, y) {
    const at = this.regions.under(this.view, x, y);
    if (at < 0) return null;
    const rule = this.map.rules[at], n = this.held[at][Math.floor(this.place)];
    return [rule.id, `${number(Math.max(0, n))} inside at ${clock(this.us, this.range)} · ${number(rule.in)} In, ${number(rule.out)} Out in all`, ...about(rule)];
  }
}

// Further facts about a rule.
function about(rule) {
  const lines = rule.where ? [rule.where] : [];
  if (rule.also && rule.also.length) lines.push(`also depends on ${rule.also.join(", ")}`);
  if (rule.within) lines.push(`within ${duration(rule.within)}`);
  if (rule.of > rule.boxes.length) lines.push(`${rule.boxes.length} of its ${number(rule.of)} boxes are drawn`);
  if (rule.ended) lines.push(`version ${rule.version}, no longer active`);
  return lines;
}

function legend(leaps) {
  const entry = (mark, text) => make("span", {}, mark, text);
  return make("div", { class: "legend", "aria-hidden": "true" },
    entry(make("i", { class: "c-in" }, "▲"), "In"), entry(make("i", { class: "c-out" }, "▽"), "Out"),
    entry(make("i", { class: "dot" }), "a stream, and where it came from"), entry(make("i", { class: "track" }), "tracks"),
    ...(leaps ? [entry(make("i", { class: "leap" }), `leapt through (${number(leaps.of)})`)] : []),
    entry(make("i", { class: "box" }), "region"), entry(make("i", { class: "box some" }), "occupied (darker = more)"));
}
