// All regions of a map: their outlines, drawn once for each view, and over them those that are occupied.
// Law: a large region is drawn below a small one, and found under the pointer after it.

class Regions {
  constructor(map, held) {
    this.rules = map.rules;
    this.held = held;
    this.most = Math.max(1, ...held.map((row) => row.reduce((a, b) => Math.max(a, b), 0)));
    this.shapes = map.rules.map((rule) => shapesOf(rule, map.extent));
    const size = (at) => this.shapes[at].reduce((sum, { bounds: [left, low, right, high] }) => sum + (right - left) * (high - low), 0);
    const sizes = map.rules.map((_, at) => size(at));
    this.order = map.rules.map((_, at) => at).sort((a, b) => sizes[b] - sizes[a]);
    this.base = map.base && { lines: map.base.lines.map(outline), areas: map.base.areas.map((rings) => rings.map(outline)) };
  }

  // The shapes in view, from the largest on: the rule's place, the shape, and its rectangle on the screen.
  *seen(view) {
    for (const at of this.order) {
      for (const shape of this.shapes[at]) {
        const rect = view.rect(shape.bounds);
        if (rect[0] <= view.width && rect[1] <= view.height && rect[2] >= 0 && rect[3] >= 0) yield [at, shape, rect];
      }
    }
  }

  // Add a shape to the path, or a dot where it is too small to be seen.
  add(context, view, shape, rect) {
    if (rect[2] - rect[0] <= SMALLEST && rect[3] - rect[1] <= SMALLEST) context.rect(rect[0], rect[1], rect[2] - rect[0], rect[3] - rect[1]);
    else shape.path(context, view);
  }

  // What does not change over time: the base, and every outline.
  still(context, view) {
    if (this.base) this.ground(context, view);
    context.strokeStyle = ink("region");
    context.lineCap = context.lineJoin = "round";
    context.lineWidth = 1;
    context.globalAlpha = 0.5;
    for (const [, shape, rect] of this.seen(view)) {
      if (shape.line) continue;
      context.beginPath();
      this.add(context, view, shape, rect);
      context.stroke();
    }
    for (const [, shape] of this.seen(view)) if (shape.line) this.corridor(context, view, shape, 0.22, 0.5);
    context.globalAlpha = 1;
  }

  ground(context, view) {
    const inView = (line) => { const [left, top, right, bottom] = view.rect(boundsOf([line])); return left <= view.width && top <= view.height && right >= 0 && bottom >= 0; };
    context.fillStyle = ink("area");
    context.beginPath();
    for (const rings of this.base.areas) if (rings.some(inView)) for (const ring of rings) traced(context, view, ring, true);
    context.fill("evenodd");
    context.strokeStyle = ink("strong");
    context.lineWidth = Math.min(3, 0.8 + view.scale / 8);
    context.lineCap = context.lineJoin = "round";
    context.beginPath();
    for (const line of this.base.lines) if (inView(line)) traced(context, view, line, false);
    context.stroke();
  }

  // A corridor is a wide stroke, and its line.
  corridor(context, view, shape, share, fine) {
    context.globalAlpha = share;
    context.lineWidth = shape.width(view);
    context.beginPath();
    shape.path(context, view);
    context.stroke();
    context.globalAlpha = fine;
    context.lineWidth = 1;
    context.stroke();
  }

  // Those that are occupied at a step: the more, the darker.
  occupied(context, view, step) {
    context.fillStyle = context.strokeStyle = ink("held");
    context.lineCap = context.lineJoin = "round";
    const outlined = [];
    for (const [at, shape, rect] of this.seen(view)) {
      const n = this.held[at][step];
      if (n <= 0) continue;
      // A small one must be seen, a large one must not hide what is in it.
      const area = (rect[2] - rect[0]) * (rect[3] - rect[1]), small = area < 200, share = Math.min(1, area / (view.width * view.height));
      const alpha = ((small ? 0.5 : 0.07) + (small ? 0.45 : 0.38) * Math.sqrt(n / this.most)) * (1 - 0.8 * share);
      if (shape.line) {
        this.corridor(context, view, shape, Math.max(alpha, 0.25), 0.85);
        continue;
      }
      context.globalAlpha = alpha;
      context.beginPath();
      this.add(context, view, shape, rect);
      context.fill("evenodd");
      outlined.push([shape, rect]);
    }
    context.globalAlpha = 0.85;
    context.lineWidth = 1;
    context.beginPath();
    for (const [shape, rect] of outlined) this.add(context, view, shape, rect);
    context.stroke();
    context.globalAlpha = 1;
  }

  // The smallest region under a place on the screen; -1 if there is none.
  under(view, x, y) {
    let found = -1;
    const [px, py] = view.parts(x, y);
    for (const [at, shape, [left, top, right, bottom]] of this.seen(view)) {
      if (x < left - 2 || y < top - 2 || x > right + 2 || y > bottom + 2) continue;
      if ((right - left <= 2 * SMALLEST && bottom - top <= 2 * SMALLEST) || shape.holds(px, py, view)) found = at;
    }
    return found;
  }
}
