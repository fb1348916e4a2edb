// Choose one stream of many: a list, with a search field if it is long.
// Law: the choice is a stream of the list, or all of them if that is offered.

const SEARCHED = 8;
let lists = 0;

// The place of the name that a text means: equal to it, beginning with it, or containing it; else -1.
function meant(names, text) {
  const typed = text.toLowerCase(), lower = names.map((name) => name.toLowerCase());
  for (const fits of [(name) => name === typed, (name) => name.startsWith(typed), (name) => name.includes(typed)]) {
    const at = lower.findIndex(fits);
    if (at >= 0) return at;
  }
  return -1;
}

// `labels` are what the list shows; `all` is what it shows for all of them, or null.
function streamChooser(names, labels, all, changed) {
  const select = make("select", { "aria-label": "Stream" }, ...(all === null ? [] : [make("option", { value: -1 }, all)]),
    ...labels.map((label, at) => make("option", { value: at }, label)));
  select.addEventListener("change", () => changed(+select.value));
  const chooser = make("div", { class: "choices" }, make("label", {}, "Stream", select));
  if (names.length <= SEARCHED) return { element: chooser, select };
  const id = `names-${lists += 1}`, said = make("span", { class: "note", role: "status" });
  const search = make("input", { type: "search", list: id, placeholder: "Find a stream", "aria-label": "Find a stream", autocomplete: "off", spellcheck: "false" });
  const look = (final) => {
    const text = search.value.trim(), at = text ? meant(names, text) : all === null ? 0 : -1;
    said.textContent = final && text && at < 0 ? "Not on this page: fencepost report --stream ID adds it." : "";
    if (text && (at < 0 || (!final && names[at] !== text))) return;
    select.value = String(at);
    changed(at);
  };
  search.addEventListener("input", () => look(false));
  search.addEventListener("change", () => look(true));
  select.addEventListener("change", () => { search.value = ""; said.textContent = ""; });
  chooser.append(make("label", {}, search), make("datalist", { id }, ...names.map((name) => make("option", { value: name }))), said);
  return { element: chooser, select };
}
