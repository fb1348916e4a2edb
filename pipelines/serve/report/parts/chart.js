// Charts: the axes of one stream over time, the bands of its rules, and In and Out where it crossed.

const FIRST = 300, OTHER = 96, FOOT = 24, LEFT = 64, RIGHT = 12, GAP = 18;
const MANY = 300; // crossings, beyond which those of one rule are shown first

class Charts {
  constructor(chart, feed) {
    this.chart = chart;
    this.units = feed.units;
    this.range = Math.max(1, chart.end - chart.begin);
    this.axes = chart.streams.length ? chart.axes.slice(0, chart.streams[0].lines.length) : [];
    this.element = make("figure", { class: "chart", "aria-label": `Charts of ${feed.name}` });
    const what = feed.crossed ? ["crossing", "crossings"] : ["tuple", "tuples"];
    const names = chart.streams.map((each) => each.id);
    const chooser = streamChooser(names, chart.streams.map((each) => `${each.id}  ·  ${counted(each.n, ...what)}`), null, () => this.choose());
    this.streams = chooser.select;
    this.rules = make("select", { "aria-label": "Rule" });
    this.rules.addEventListener("change", () => { this.only = +this.rules.value; this.picture.redraw(); });
    chooser.element.append(make("label", {}, "Rule", this.rules));
    this.title = make("h3", {});
    const stage = make("div", { class: "stage" });
    this.nominal = FIRST + (this.axes.length - 1) * (OTHER + GAP) + FOOT;
    stage.style.setProperty("--high", `${this.nominal}px`);
    this.picture = canvas(stage, { role: "img" }, (...all) => this.draw(...all));
    this.summary = make("p", { class: "summary" });
    const shown = this.axes.length < chart.axes.length ? ` Axes ${this.axes.join(", ")} of ${chart.axes.length}.` : "";
    const kept = chart.streams.reduce((sum, each) => sum + each.marks.type.length, 0);
    const marks = kept < chart.of_marks ? ` ${number(kept)} of their ${number(chart.of_marks)} crossings are drawn.` : "";
    this.element.append(chooser.element, this.title, stage, this.summary,
      make("figcaption", {}, `To choose from: ${ofAll(chart.streams.length, chart.of_streams, "stream")}${chart.streams.length < chart.of_streams ? `, those with most ${what[1]}` : ""}.${marks}${shown} Lines are downsampled; extremes are kept.`));
    this.picture.element.addEventListener("pointermove", (event) => this.explain(event));
    this.picture.element.addEventListener("pointerdown", (event) => this.explain(event));
    this.picture.element.addEventListener("pointerleave", () => { this.at = null; showTip(null); this.picture.redraw(); });
    this.choose();
  }

  choose() {
    const stream = this.chart.streams[+this.streams.value];
    this.stream = stream;
    this.title.textContent = `${this.axes.join(", ")} of ${stream.id}${stream.rules.length ? ", with its rules" : ""}`;
    this.only = stream.marks.type.length > MANY && stream.rules.length ? stream.rules[0][0] : -1;
    this.marks = { ...stream.marks, t: summed(stream.marks.t) };
    this.lines = stream.lines.map((line) => ({ ...line, t: summed(line.t), v: summed(line.v) }));
    this.rules.replaceChildren(make("option", { value: -1 }, `all ${number(stream.rules.length)}`),
      ...stream.rules.map(([at, entered, left]) => make("option", { value: at }, `${this.chart.rules[at].id}  ·  ${number(entered)} In, ${number(left)} Out`)));
    this.rules.value = String(this.only);
    this.rules.parentElement.hidden = !stream.rules.length;
    const type = stream.marks.type, entered = [...type].filter((each) => each === "I").length;
    this.summary.hidden = !stream.rules.length && !type.length;
    this.summary.replaceChildren(make("b", { class: "c-in" }, `▲ ${number(entered)} In`), "  ", make("b", { class: "c-out" }, `▽ ${number(type.length - entered)} Out`),
      `  · shaded: ${counted(stream.rules.length, "rule", "rules")} that it crossed most, or that name it${this.only < 0 ? "" : "; one is chosen, since crossings are many"}`);
    this.picture.element.setAttribute("aria-label", `${stream.id}: ${this.axes.join(", ")} over time, ${type.length} crossings`);
    this.picture.element.dataset.marks = String(type.length);
    this.picture.redraw();
  }

  x(part) { return LEFT + (part / PARTS) * (this.width - LEFT - RIGHT); }
  xOf(us) { return this.x(((us - this.chart.begin) / this.range) * PARTS); }

  panel(k) {
    const line = this.lines[k], first = GAP + (FIRST - GAP) * this.share, other = OTHER * this.share;
    const top = k ? first + GAP + (k - 1) * (other + GAP) : GAP;
    const high = k ? other : first - GAP, room = (line.high - line.low) * (k ? 0.05 : 0.1);
    const low = line.low - room, span = line.high - line.low + 2 * room;
    return { k, line, top, high, low, span, y: (v) => top + high - ((v - low) / span) * high };
  }

  draw(context, width, height) {
    this.width = width;
    const fixed = FOOT + GAP * this.axes.length;
    this.share = (height - fixed) / (this.nominal - fixed); // paper is lower than a screen
    context.font = "11px system-ui, sans-serif";
    for (let k = 0; k < this.axes.length; k += 1) {
      const panel = this.panel(k);
      this.frame(context, panel);
      this.bands(context, panel);
      this.line(context, panel);
    }
    this.foot(context, height);
    this.crossings(context);
  }

  frame(context, panel) {
    context.strokeStyle = ink("line");
    context.fillStyle = ink("muted");
    context.lineWidth = 1;
    context.textAlign = "right";
    for (const v of ticks(panel.low, panel.low + panel.span, Math.max(1, panel.high / 46))) {
      const y = Math.round(panel.y(v)) + 0.5;
      context.beginPath();
      context.moveTo(LEFT, y);
      context.lineTo(this.width - RIGHT, y);
      context.stroke();
      context.fillText(value(v, panel.span), LEFT - 8, y + 4);
    }
    context.textAlign = "left";
    context.fillStyle = ink("ink");
    context.fillText(measured(this.axes[panel.k], this.units), LEFT + 4, panel.top - 5);
  }

  bands(context, panel) {
    context.save();
    context.beginPath();
    context.rect(LEFT, panel.top, this.width - LEFT - RIGHT, panel.high);
    context.clip();
    for (const [at] of this.stream.rules) {
      const weight = this.only < 0 ? 1 : this.only === at ? 2.2 : 0.4;
      for (const box of this.chart.rules[at].boxes) this.band(context, panel, box[2 * panel.k], box[2 * panel.k + 1], weight);
    }
    context.restore();
  }

  // A half-open band; a side without an end fades out.
  band(context, panel, lo, hi, weight) {
    if (lo === null && hi === null) return;
    const ends = [lo, hi].map((end) => (end === null ? null : panel.y(end)));
    const fade = Math.min(panel.high * 0.3, 60);
    const bottom = ends[0] ?? ends[1] + fade, top = ends[1] ?? ends[0] - fade;
    if (bottom < panel.top || top > panel.top + panel.high) return;
    const shade = context.createLinearGradient(0, top, 0, bottom || 1);
    const fill = seeThrough("held", 0.13 * weight), none = seeThrough("held", 0);
    shade.addColorStop(0, ends[1] === null ? none : fill);
    shade.addColorStop(1, ends[0] === null ? none : fill);
    context.fillStyle = shade;
    context.fillRect(LEFT, top, this.width, Math.max(1, bottom - top));
    context.strokeStyle = seeThrough("held", Math.min(1, 0.4 * weight));
    context.lineWidth = 1;
    for (const y of ends) {
      if (y === null) continue;
      context.beginPath();
      context.moveTo(LEFT, y);
      context.lineTo(this.width, y);
      context.stroke();
    }
  }

  line(context, panel) {
    const { t, v, low, high } = panel.line;
    context.strokeStyle = ink(panel.k ? "muted" : "ink");
    context.lineWidth = panel.k ? 1 : 1.25;
    context.lineJoin = "round";
    context.beginPath();
    for (let i = 0; i < t.length; i += 1) {
      const x = this.x(t[i]), y = panel.y(low + (v[i] / 8192) * (high - low));
      if (i) context.lineTo(x, y);
      else context.moveTo(x, y);
    }
    context.stroke();
    if (t.length === 1) {  // a line of one point is invisible
      context.fillStyle = context.strokeStyle;
      context.arc(this.x(t[0]), panel.y(low + (v[0] / 8192) * (high - low)), 3, 0, 2 * Math.PI);
      context.fill();
    }
  }

  foot(context, height) {
    const { begin, end } = this.chart;
    context.fillStyle = ink("muted");
    context.textAlign = "center";
    for (const us of timeTicks(begin, end, Math.max(2, this.width / 110))) {
      const x = this.xOf(us);
      if (x > LEFT - 2 && x < this.width - 20) context.fillText(tickText(us, this.range), x, height - 8);
    }
    if (this.at !== null && this.at !== undefined) {
      context.strokeStyle = ink("strong");
      context.beginPath();
      context.moveTo(this.at, 0);
      context.lineTo(this.at, height - FOOT);
      context.stroke();
    }
  }

  *placed() {
    const panel = this.panel(0), marks = this.marks;
    for (let i = 0; i < marks.t.length; i += 1) {
      if (this.only >= 0 && marks.rule[i] !== this.only) continue;
      const entered = marks.type[i] === "I";
      yield [i, this.xOf(this.chart.begin + marks.t[i] * 1000), panel.y(marks.v[0][i]) + (entered ? 5 : -5), entered];
    }
  }

  crossings(context) {
    const all = [...this.placed()], size = all.length > 600 ? 3 : all.length > 150 ? 3.75 : 5;
    for (const type of [false, true]) {
      triangles(context, all.filter(([, , , entered]) => entered === type).map(([, x, y]) => [x, y]), size, type);
    }
  }

  explain(event) {
    const { offsetX: x, offsetY: y } = event;
    let best = null, near = 100;
    for (const place of this.placed()) {
      const far = (place[1] - x) ** 2 + (place[2] - y) ** 2;
      if (far <= near) [best, near] = [place, far];
    }
    this.at = x >= LEFT && x <= this.width - RIGHT ? x : null;
    this.picture.redraw();
    if (best) return void showTip(this.crossing(best[0]), event.clientX, event.clientY);
    if (this.at === null) return void showTip(null);
    const part = ((x - LEFT) / (this.width - LEFT - RIGHT)) * PARTS;
    const values = this.lines.map((line, k) => {
      const i = Math.max(0, upTo(line.t, part) - 1);
      return line.t.length ? `${this.axes[k]} about ${withUnit(value(line.low + (line.v[i] / 8192) * (line.high - line.low), line.high - line.low), this.units[this.axes[k]])}` : "";
    });
    showTip([moment(this.chart.begin + (part / PARTS) * this.range), ...values], event.clientX, event.clientY);
  }

  crossing(i) {
    const marks = this.marks, rule = this.chart.rules[marks.rule[i]], entered = marks.type[i] === "I";
    const values = marks.v.map((row, k) => `${this.axes[k]} ${withUnit(plainValue(row[i]), this.units[this.axes[k]])}`);
    return [`${entered ? "▲ In" : "▽ Out"}: ${rule.id}`, `${this.stream.id} ${entered ? "entered" : "left"} at ${moment(this.chart.begin + marks.t[i] * 1000)}`, values.join(" · "), ...payload(marks, i), ...about(rule)];
  }
}
