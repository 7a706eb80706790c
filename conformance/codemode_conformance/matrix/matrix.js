"use strict";
(() => {
  const one = (selector) => document.querySelector(selector);
  const rows = [...document.querySelectorAll("tr[data-differs]")];
  const box = one("#differing");
  const filter = () => { for (const row of rows) row.hidden = box.checked && row.dataset.differs !== "yes"; };
  box.addEventListener("change", filter);
  const root = document.documentElement;
  one("#theme").addEventListener("click", () => {
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
  });
  for (const hidden of document.querySelectorAll(".needs-script")) hidden.hidden = false;
  filter();
})();
