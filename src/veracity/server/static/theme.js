// Runs before the first paint, hence a classic script: a page that is drawn light and then turns dark flashes.
"use strict";
(() => {
  let theme = null;
  try { theme = localStorage.getItem("veracity.theme"); } catch { /* storage may be switched off */ }
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
})();
