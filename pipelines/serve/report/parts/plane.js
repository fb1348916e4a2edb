// A plane that can be zoomed and panned: wheel, drag, pinch, buttons, keys.
// A page is scrolled more often than a map is zoomed: the wheel zooms with Ctrl or ⌘, or once the map
// was clicked; one finger scrolls the page until the map is zoomed, two always zoom.

const NEAREST = 80;

class Plane {
  constructor(element, hint, changed) {
    this.element = element;
    this.hint = hint;
    this.changed = changed;
    this.scale = 1;
    this.x = 0;
    this.y = 0;
    this.fingers = new Map();
    this.moved = 0;
    element.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    element.addEventListener("pointerdown", (event) => this.down(event));
    element.addEventListener("pointermove", (event) => this.move(event));
    for (const end of ["pointerup", "pointercancel"]) element.addEventListener(end, (event) => this.up(event));
    element.addEventListener("keydown", (event) => this.key(event));
  }

  // From the place on the unzoomed plane to the place on the screen.
  toX(x) { return x * this.scale + this.x; }
  toY(y) { return y * this.scale + this.y; }

  zoom(factor, x = this.element.clientWidth / 2, y = this.element.clientHeight / 2) {
    const scale = Math.min(NEAREST, Math.max(1, this.scale * factor));
    this.x = x - ((x - this.x) * scale) / this.scale;
    this.y = y - ((y - this.y) * scale) / this.scale;
    this.scale = scale;
    this.settle();
  }

  pan(dx, dy) {
    this.x += dx;
    this.y += dy;
    this.settle();
  }

  reset() {
    this.scale = 1;
    this.x = this.y = 0;
    this.settle();
  }

  // The plane always fills the window.
  settle() {
    const width = this.element.clientWidth, height = this.element.clientHeight;
    this.x = Math.min(0, Math.max(width * (1 - this.scale), this.x));
    this.y = Math.min(0, Math.max(height * (1 - this.scale), this.y));
    this.element.classList.toggle("far", this.scale > 1);
    this.changed();
  }

  wheel(event) {
    if (!event.ctrlKey && !event.metaKey && document.activeElement !== this.element) {
      this.hint.classList.add("shown");
      clearTimeout(this.hiding);
      this.hiding = setTimeout(() => this.hint.classList.remove("shown"), 1200);
      return;
    }
    event.preventDefault();
    this.zoom(Math.exp(-event.deltaY * (event.deltaMode ? 0.05 : 0.002)), event.offsetX, event.offsetY);
  }

  down(event) {
    this.fingers.set(event.pointerId, event);
    this.moved = 0;
    if (this.scale > 1 || this.fingers.size > 1) this.element.setPointerCapture(event.pointerId);
  }

  move(event) {
    const before = this.fingers.get(event.pointerId);
    if (!before) return;
    const dx = event.clientX - before.clientX, dy = event.clientY - before.clientY;
    this.moved += Math.abs(dx) + Math.abs(dy);
    if (this.fingers.size === 2) {
      const other = [...this.fingers.values()].find((each) => each.pointerId !== event.pointerId);
      const apart = (one) => Math.hypot(one.clientX - other.clientX, one.clientY - other.clientY);
      const box = this.element.getBoundingClientRect();
      this.zoom(apart(event) / Math.max(1, apart(before)), (event.clientX + other.clientX) / 2 - box.left, (event.clientY + other.clientY) / 2 - box.top);
    } else if (this.scale > 1) {
      this.pan(dx, dy);
    }
    this.fingers.set(event.pointerId, event);
  }

  up(event) { this.fingers.delete(event.pointerId); }

  key(event) {
    const step = 60;
    const does = {
      "+": () => this.zoom(1.5), "=": () => this.zoom(1.5), "-": () => this.zoom(1 / 1.5), "0": () => this.reset(),
      ArrowLeft: () => this.pan(step, 0), ArrowRight: () => this.pan(-step, 0),
      ArrowUp: () => this.pan(0, step), ArrowDown: () => this.pan(0, -step),
      Escape: () => this.element.blur(),
    }[event.key];
    if (!does || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key.startsWith("Arrow") && this.scale === 1) return;
    event.preventDefault();
    does();
  }
}
