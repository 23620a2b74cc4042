// Filters, opens and copies what is on the page; keeps its state in the address. Loads nothing, stores nothing.
(() => {
  "use strict";
  const first = location.hash; // before pytest-html's script rewrites the address
  const form = document.getElementById("rap-filter");
  const cards = [...document.querySelectorAll(".rap-card")];
  const areas = [...document.querySelectorAll(".rap-area")];
  const nothing = document.querySelector(".rap-nothing");
  const shown = form.querySelector("output");
  const words = new Map();
  const code = /^[A-Z]{3}\d{3}$/;
  let here = "";

  const textOf = (card) => {
    if (!words.has(card)) words.set(card, card.textContent.toLowerCase());
    return words.get(card);
  };
  const checked = (name) =>
    [...form.querySelectorAll(`input[name="${name}"]:checked`)].map((box) => box.value);

  const address = () => {
    const state = new URLSearchParams();
    for (const name of ["verdict", "level"]) {
      const values = checked(name);
      if (values.length) state.set(name, values.join(","));
    }
    if (form.text.value) state.set("text", form.text.value);
    const parts = [here, state.toString()].filter(Boolean);
    const search = new URLSearchParams(location.search);
    search.delete("sort"); // pytest-html's, on every load
    const query = search.toString();
    try {
      history.replaceState(null, "", location.pathname + (query ? `?${query}` : "") + (parts.length ? `#${parts.join("&")}` : ""));
    } catch { /* Some viewers of local files forbid it; filters work all the same. */ }
  };

  const apply = () => {
    const verdicts = checked("verdict"), levels = checked("level");
    const wanted = form.text.value.toLowerCase().split(/\s+/).filter(Boolean);
    let count = 0;
    for (const card of cards) {
      const fits = (!verdicts.length || verdicts.includes(card.dataset.verdict))
        && (!levels.length || levels.includes(card.dataset.level))
        && wanted.every((word) => textOf(card).includes(word));
      card.hidden = !fits;
      count += fits;
    }
    for (const area of areas) area.hidden = !area.querySelector(".rap-card:not([hidden])");
    nothing.hidden = count > 0;
    shown.value = `${count} of ${cards.length} shown`;
  };
  const changed = () => { apply(); address(); };

  const read = (hash) => {
    const [start, ...rest] = hash.replace(/^#/, "").split("&");
    here = code.test(start) ? start : "";
    const state = new URLSearchParams((here ? rest : [start, ...rest]).join("&"));
    for (const name of ["verdict", "level"]) {
      const values = (state.get(name) || "").split(",");
      for (const box of form.querySelectorAll(`input[name="${name}"]`)) box.checked = values.includes(box.value);
    }
    form.text.value = state.get("text") || "";
  };

  const show = (name) => {
    const card = code.test(name) && document.getElementById(name);
    if (!card) return;
    if (card.hidden) { form.reset(); apply(); }
    card.open = true;
    card.scrollIntoView({ block: "start" });
    card.querySelector("summary").focus({ preventScroll: true });
  };

  // Wide or long blocks can be scrolled by keyboard too.
  const reachable = (root) => {
    for (const box of root.querySelectorAll("pre, .rap-expected, .rap-actual, .rap-scroll")) {
      if (box.scrollHeight > box.clientHeight + 1 || box.scrollWidth > box.clientWidth + 1) box.tabIndex = 0;
    }
  };

  const copyButton = (block) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = "Copy";
    button.addEventListener("click", async () => {
      const source = block.querySelector("pre");
      try {
        await navigator.clipboard.writeText(source.textContent);
        button.textContent = "Copied";
      } catch {
        getSelection().selectAllChildren(source);
        button.textContent = "Selected";
      }
      setTimeout(() => { button.textContent = "Copy"; }, 2000);
    });
    block.querySelector("h5").append(" ", button);
  };

  for (const block of document.querySelectorAll("section > .rap-copy")) copyButton(block);

  const opened = (card) => {
    if (!card.open) return;
    if (!card.dataset.ready) for (const block of card.querySelectorAll(".rap-copy")) copyButton(block);
    card.dataset.ready = "1";
    reachable(card);
  };
  for (const card of cards) {
    opened(card);
    card.addEventListener("toggle", () => opened(card));
    for (const inner of card.querySelectorAll("details")) inner.addEventListener("toggle", () => reachable(inner));
  }
  // Only what is open: to measure what is folded would lay it all out.
  for (const part of document.querySelectorAll(".rap-pictures")) reachable(part);
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("input", changed);
  form.addEventListener("reset", () => { here = ""; setTimeout(changed); });
  form.elements.open.addEventListener("click", () => cards.forEach((card) => { if (!card.hidden) card.open = true; }));
  form.elements.close.addEventListener("click", () => cards.forEach((card) => { card.open = false; }));

  addEventListener("hashchange", () => {
    const start = location.hash.slice(1);
    if (code.test(start)) { here = start; show(start); address(); } // a link on the page: filters stay
    else if (start.includes("=")) { read(location.hash); apply(); show(here); }
  });
  document.addEventListener("click", (event) => { // a second click on the same link changes no hash
    const link = event.target.closest && event.target.closest('a[href^="#"]');
    if (link && link.getAttribute("href") === `#${here}`) { event.preventDefault(); show(here); }
  });

  // What pytest saw goes to the end, folded, and its controls get names.
  const raw = () => {
    document.documentElement.lang = "en";
    const box = document.createElement("details");
    box.className = "rap-raw";
    const head = document.createElement("summary");
    head.textContent = "As pytest saw it";
    box.append(head);
    for (const name of [".run-count", "p.filter", ".controls", "#results-table", "#environment-header", "#environment"]) {
      const part = document.querySelector(name);
      if (part) box.append(part);
    }
    for (const input of box.querySelectorAll('input[name="filter_checkbox"]')) {
      input.setAttribute("aria-label", input.nextElementSibling ? input.nextElementSibling.textContent : "filter");
    }
    for (const empty of box.querySelectorAll("#environment ul > ul")) empty.remove();
    document.querySelector("main").append(box);
    const made = document.querySelector("body > p"); // stands last, so that it is also reached last
    if (made) document.body.append(made);
    // Somebody's own tests have no card here: their rows are all there is.
    const foreign = [...box.querySelectorAll("#results-table .col-testId")].some((cell) => !cell.textContent.trim());
    box.open = foreign;
    address();
    show(here);
  };

  read(first);
  form.hidden = false;
  apply();
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", raw); else raw();
})();
