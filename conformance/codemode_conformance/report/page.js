"use strict";
(() => {
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];
  const show = new Map(); // for each report of the page, what shows all of its cases
  for (const report of all(".report")) {
    const one = (name) => document.getElementById(report.dataset.before + name);
    const cases = all(".case", report), areas = all(".area", report), boxes = all(".chips input", report);
    const search = one("search"), area = one("area"), klass = one("class"), shown = one("shown");
    const texts = new Map();
    const text = (entry) => {
      if (!texts.has(entry)) texts.set(entry, entry.textContent.toLowerCase());
      return texts.get(entry);
    };
    const filter = () => {
      const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
      const verdicts = new Set(boxes.filter((box) => box.checked).map((box) => box.value));
      let count = 0;
      for (const entry of cases) {
        const { verdict, area: of, classes } = entry.dataset;
        const fits = verdicts.has(verdict) && (!area.value || of === area.value) &&
          (!klass.value || classes.split(" ").includes(klass.value)) && words.every((word) => text(entry).includes(word));
        entry.hidden = !fits;
        count += fits;
      }
      for (const group of areas) group.hidden = !group.querySelector(".case:not([hidden])");
      shown.textContent = `${count} of ${cases.length} cases`;
    };
    const later = (act, ms, timer = 0) => () => { clearTimeout(timer); timer = setTimeout(act, ms); };
    search.addEventListener("input", later(filter, 80));
    for (const control of [area, klass, ...boxes]) control.addEventListener("change", filter);
    show.set(report, () => {
      search.value = area.value = klass.value = "";
      for (const box of boxes) box.checked = true;
      filter();
    });
    one("reset").addEventListener("click", show.get(report));
    one("trouble").addEventListener("click", () => {
      const ill = new Set(["fail", "flaky", "error", "xpass"]);
      for (const box of boxes) box.checked = ill.has(box.value);
      filter();
    });
    const root = document.documentElement;
    one("theme").addEventListener("click", () => {
      const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
      root.dataset.theme = dark ? "light" : "dark";
    });
    filter();
  }

  const byHand = (code) => {
    const range = document.createRange();
    range.selectNodeContents(code);
    getSelection().removeAllRanges();
    getSelection().addRange(range);
    return document.execCommand("copy");
  };
  document.addEventListener("click", async (event) => {
    const button = event.target.closest("button[data-copy]");
    if (!button) return;
    const code = button.parentElement.querySelector("code");
    let done = true;
    try { await navigator.clipboard.writeText(code.textContent); } catch { done = byHand(code); }
    button.textContent = done ? "copied" : "press Ctrl-C";
    setTimeout(() => { button.textContent = "copy"; }, 1500);
  });

  const follow = () => { // a link from a requirement or from elsewhere opens its case
    let id = "";
    try { id = decodeURIComponent(location.hash.slice(1)); } catch { return; }
    const entry = id && document.getElementById(id);
    if (!entry || !entry.classList.contains("case")) return;
    if (entry.hidden) show.get(entry.closest(".report"))();
    entry.open = true;
    entry.scrollIntoView();
  };
  addEventListener("hashchange", follow);
  follow();

  let closed = []; // on paper everything that is shown is open
  addEventListener("beforeprint", () => {
    closed = all("details:not([open])").filter((entry) => !entry.hidden && entry.dataset.verdict !== "pass" && entry.dataset.verdict !== "unsupported");
    for (const entry of closed) entry.open = true;
  });
  addEventListener("afterprint", () => { for (const entry of closed) entry.open = false; });
  for (const hidden of all(".needs-script")) hidden.hidden = false;
})();
