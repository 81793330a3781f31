// Runs before the first paint, hence a classic script: a page that is drawn light and then turns dark flashes.
"use strict";
// "light", "dark" or "auto", which is as the system has it; the browser's own bar goes along.
window.showTheme = (theme) => {
  if (theme === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
  for (const bar of document.querySelectorAll("meta[name=theme-color]")) {
    const { look } = bar.dataset;
    bar.media = theme === "auto" ? `(prefers-color-scheme: ${look})` : theme === look ? "all" : "not all";
  }
};

(() => {
  let theme = null;
  try { theme = localStorage.getItem("veracity.theme"); } catch { /* storage may be switched off */ }
  if (theme === "light" || theme === "dark") window.showTheme(theme);
})();
