// Filters the rows; keeps its state in the address. Loads nothing, stores nothing.
(() => {
  "use strict";
  const form = document.getElementById("rap-matrix-filter");
  const rows = [...document.querySelectorAll(".rap-matrix tbody tr")];
  const boxes = ["differs", "changed"].map((name) => form.elements[name]).filter(Boolean);
  const apply = () => {
    const wanted = form.elements.text.value.toLowerCase().split(/\s+/).filter(Boolean);
    let count = 0;
    for (const row of rows) {
      const fits = boxes.every((box) => !box.checked || row.hasAttribute(`data-${box.name}`))
        && wanted.every((word) => row.textContent.toLowerCase().includes(word));
      row.hidden = !fits;
      count += fits;
    }
    form.querySelector("output").value = `${count} of ${rows.length} shown`;
  };
  const read = () => {
    const state = new URLSearchParams(location.hash.slice(1));
    form.elements.text.value = state.get("text") || "";
    for (const box of boxes) box.checked = state.has(box.name);
    apply();
  };
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("input", () => {
    apply();
    const state = new URLSearchParams();
    if (form.elements.text.value) state.set("text", form.elements.text.value);
    for (const box of boxes) if (box.checked) state.set(box.name, "1");
    try {
      history.replaceState(null, "", `${location.pathname}${location.search}${state.size ? `#${state}` : ""}`);
    } catch { /* Some viewers of local files forbid it; filters work all the same. */ }
  });
  addEventListener("hashchange", read);
  form.hidden = false;
  read();
})();
