// What of a map is on the screen: from parts of its sides to places, the grid, the scale bar.
// Degrees lie as on the earth at the map's middle: a metre is as long eastward as northward there.

const PARTS = 65536;
const METRES = 111195.08; // of a degree northward

class MapView {
  constructor(map, units, plane) {
    this.map = map;
    this.units = units;
    this.plane = plane;
    const [, y0, , y1] = map.extent;
    this.shrink = map.geographic ? Math.max(0.01, Math.cos((((y0 + y1) / 2) * Math.PI) / 180)) : 1;
  }

  // Fit the extent into the stage, as wide as it is high.
  fit(width, height) {
    const [x0, y0, x1, y1] = this.map.extent;
    const wide = (x1 - x0) * this.shrink;
    const scale = Math.min(width / wide, height / (y1 - y0));
    this.width = width;
    this.height = height;
    this.w = wide * scale;
    this.h = (y1 - y0) * scale;
    this.left = (width - this.w) / 2;
    this.top = (height - this.h) / 2;
  }

  get scale() { return this.plane.scale; }
  get key() { return [this.width, this.height, this.plane.scale, this.plane.x, this.plane.y].join(); }

  sx(part) { return this.plane.toX(this.left + (part / PARTS) * this.w); }
  sy(part) { return this.plane.toY(this.top + this.h - (part / PARTS) * this.h); }
  vx(x) { return this.sx(((x - this.map.extent[0]) / (this.map.extent[2] - this.map.extent[0])) * PARTS); }
  vy(y) { return this.sy(((y - this.map.extent[1]) / (this.map.extent[3] - this.map.extent[1])) * PARTS); }

  // From a place on the screen back to parts.
  parts(x, y) {
    const left = this.sx(0), bottom = this.sy(0);
    return [((x - left) / (this.sx(PARTS) - left)) * PARTS, ((bottom - y) / (bottom - this.sy(PARTS))) * PARTS];
  }

  // The rectangle of bounds on the screen: left, top, right, bottom; open ends are off it, and it can be seen.
  rect([x0, y0, x1, y1]) {
    let left = x0 === -Infinity ? -4 : this.sx(x0), right = x1 === Infinity ? this.width + 4 : this.sx(x1);
    let top = y1 === Infinity ? -4 : this.sy(y1), bottom = y0 === -Infinity ? this.height + 4 : this.sy(y0);
    const thin = (SMALLEST - (right - left)) / 2, flat = (SMALLEST - (bottom - top)) / 2;
    if (thin > 0) { left -= thin; right += thin; }
    if (flat > 0) { top -= flat; bottom += flat; }
    return [left, top, right, bottom];
  }

  ticks(width, height) {
    const [x0, y0, x1, y1] = this.map.extent, many = Math.max(2, 5 * this.scale);
    return {
      xs: ticks(x0, x1, many).map((x) => [x, this.vx(x)]).filter(([, at]) => at > 24 && at < width - 90),
      ys: ticks(y0, y1, many).map((y) => [y, this.vy(y)]).filter(([, at]) => at > 16 && at < height - 28),
    };
  }

  grid(context) {
    const { xs, ys } = this.ticks(this.width, this.height);
    context.strokeStyle = ink("line");
    context.lineWidth = 1;
    context.beginPath();
    for (const [, at] of xs) { context.moveTo(at, 0); context.lineTo(at, this.height); }
    for (const [, at] of ys) { context.moveTo(0, at); context.lineTo(this.width, at); }
    context.stroke();
  }

  // The grid's numbers, the axes' names and the scale bar, above all else.
  labels(context) {
    const { width, height } = this, { xs, ys } = this.ticks(width, height), [x0, y0, x1, y1] = this.map.extent;
    context.font = "11px system-ui, sans-serif";
    context.fillStyle = ink("muted");
    context.strokeStyle = ink("ground");
    context.lineWidth = 3;
    const write = (text, x, y) => { context.strokeText(text, x, y); context.fillText(text, x, y); };
    context.textAlign = "center";
    for (const [x, at] of xs) write(value(x, (x1 - x0) / this.scale), at, height - 6);
    context.textAlign = "left";
    for (const [y, at] of ys) if (at > 40) write(value(y, (y1 - y0) / this.scale), 6, at - 4);
    const [across, up] = this.map.axes.map((axis) => measured(axis, this.units));
    context.fillStyle = ink("ink");
    write(`↑ ${up}`, 6, 16);
    context.textAlign = "right";
    write(`${across} →`, width - 6, height - 6);
    this.scaleBar(context, write);
  }

  // How long a round distance is here; of degrees, in metres along the middle parallel.
  scaleBar(context, write) {
    const [x0, , x1] = this.map.extent, unit = this.units[this.map.axes[0]];
    const degree = this.map.geographic ? METRES * this.shrink : 1;
    const each = ((x1 - x0) * degree) / (this.w * this.scale);
    const power = 10 ** Math.floor(Math.log10(each * 120)), long = [5, 2, 1].map((n) => n * power).find((n) => n <= each * 120);
    if (!(long > 0) || !Number.isFinite(long)) return;
    const wide = long / each, right = this.width - 12, y = this.height - 26;
    const shown = this.map.geographic ? (long >= 1000 ? `${number(long / 1000)} km` : `${plainValue(long)} m`) : withUnit(plainValue(long), unit || this.map.axes[0]);
    context.textAlign = "center";
    write(shown, right - wide / 2, y - 5);
    context.strokeStyle = ink("ink");
    context.lineWidth = 1.5;
    context.beginPath();
    context.moveTo(right - wide, y - 4);
    context.lineTo(right - wide, y);
    context.lineTo(right, y);
    context.lineTo(right, y - 4);
    context.stroke();
  }
}
