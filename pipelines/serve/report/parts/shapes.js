// The regions of a map as they are drawn: boxes, polygons, circles, corridors, in the parts of its sides.
// Law: what is too small to be seen is drawn SMALLEST wide; what a place is inside of is judged by the
// outline that is drawn.

const SMALLEST = 5;
const NEARLY = 0.6;

// Flat differences become one array of x, y, and so on.
function outline(differences) {
  const line = new Float64Array(differences.length);
  for (let i = 0; i < line.length; i += 1) line[i] = differences[i] + (i > 1 ? line[i - 2] : 0);
  return line;
}

function boundsOf(lines, room = 0) {
  const bounds = [Infinity, Infinity, -Infinity, -Infinity];
  for (const line of lines) {
    for (let i = 0; i < line.length; i += 2) {
      bounds[0] = Math.min(bounds[0], line[i] - room);
      bounds[1] = Math.min(bounds[1], line[i + 1] - room);
      bounds[2] = Math.max(bounds[2], line[i] + room);
      bounds[3] = Math.max(bounds[3], line[i + 1] + room);
    }
  }
  return bounds;
}

// A line on the canvas, without the vertices that are where the one before is.
function traced(context, view, line, closed) {
  let px = view.sx(line[0]), py = view.sy(line[1]);
  context.moveTo(px, py);
  for (let i = 2; i < line.length; i += 2) {
    const x = view.sx(line[i]), y = view.sy(line[i + 1]);
    if (Math.abs(x - px) + Math.abs(y - py) < NEARLY && i + 2 < line.length) continue;
    context.lineTo(x, y);
    [px, py] = [x, y];
  }
  if (closed) context.closePath();
}

// How far a place is from a straight piece.
function farFrom(x, y, ax, ay, bx, by) {
  const dx = bx - ax, dy = by - ay, share = Math.min(1, Math.max(0, ((x - ax) * dx + (y - ay) * dy) / (dx * dx + dy * dy || 1)));
  return Math.hypot(x - ax - share * dx, y - ay - share * dy);
}

class BoxShape {
  constructor(box) { this.bounds = box; }
  path(context, view) {
    const [left, top, right, bottom] = view.rect(this.bounds);
    context.rect(left, top, right - left, bottom - top);
  }
  holds() { return true; }
}

class RingShape {
  constructor(rings) {
    this.rings = rings.map(outline);
    this.bounds = boundsOf(this.rings);
  }
  path(context, view) { for (const ring of this.rings) traced(context, view, ring, true); }
  holds(x, y) {
    let inside = false;
    for (const ring of this.rings) {
      for (let i = 0, j = ring.length - 2; i < ring.length; j = i, i += 2) {
        const ya = ring[j + 1], yb = ring[i + 1];
        if (ya <= y !== yb <= y && ring[j] + ((y - ya) / (yb - ya)) * (ring[i] - ring[j]) > x) inside = !inside;
      }
    }
    return inside;
  }
}

class CircleShape {
  constructor([x, y, rx, ry]) {
    Object.assign(this, { x, y, rx, ry });
    this.bounds = [x - rx, y - ry, x + rx, y + ry];
  }
  path(context, view) {
    const x = view.sx(this.x), y = view.sy(this.y), wide = view.sx(this.x + this.rx) - x, high = y - view.sy(this.y + this.ry);
    context.moveTo(x + wide, y);
    context.ellipse(x, y, wide, high, 0, 0, 2 * Math.PI);
  }
  holds(x, y) { return ((x - this.x) / this.rx) ** 2 + ((y - this.y) / this.ry) ** 2 <= 1; }
}

// A line of a width: a stroke, not a path. The distance is measured on the screen, where it is round.
class CorridorShape {
  constructor(line, half) {
    this.line = outline(line);
    this.half = half;
    this.bounds = boundsOf([this.line], 2 * half);
  }
  path(context, view) { traced(context, view, this.line, false); }
  width(view) { return Math.max(2, 2 * (view.sy(0) - view.sy(this.half))); }
  holds(x, y, view) {
    const line = this.line, near = Math.max(3, this.width(view) / 2), px = view.sx(x), py = view.sy(y);
    for (let i = 2; i < line.length; i += 2) {
      if (farFrom(px, py, view.sx(line[i - 2]), view.sy(line[i - 1]), view.sx(line[i]), view.sy(line[i + 1])) <= near) return true;
    }
    return false;
  }
}

// What is drawn of a rule: its shape, or its boxes, whose open ends are infinite.
function shapesOf(rule, extent) {
  const shape = rule.shape;
  if (!shape) return rule.boxes.map((box) => new BoxShape(inParts(box, extent)));
  if (shape.circle) return [new CircleShape(shape.circle)];
  if (shape.line) return [new CorridorShape(shape.line, shape.half)];
  return shape.rings.length ? [new RingShape(shape.rings)] : [];
}

function inParts([left, low, right, high], [x0, y0, x1, y1]) {
  const part = (v, from, to, open) => (v === null ? open : ((v - from) / (to - from)) * PARTS);
  return [part(left, x0, x1, -Infinity), part(low, y0, y1, -Infinity), part(right, x0, x1, Infinity), part(high, y0, y1, Infinity)];
}
