// Runs before the first paint, hence a classic script: applies the theme, so that a dark page does not flash white, and
// starts to load the strings, so that they arrive together with the modules.
"use strict";

window.boot = (() => {
  const LANGUAGES = ["en", "zh", "ja"];
  const script = /** @type {HTMLScriptElement} */ (document.currentScript);

  /** @param {string} name */
  function stored(name) {
    try { return localStorage.getItem(name); } catch { return null; } // storage may be disabled
  }

  /** Applies "light", "dark" or "auto" to the page and to the browser's toolbar. @param {string} theme */
  function showTheme(theme) {
    if (theme === "auto") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
    for (const meta of /** @type {NodeListOf<HTMLMetaElement>} */ (document.querySelectorAll("meta[name=theme-color]"))) {
      const { look } = meta.dataset;
      meta.media = theme === "auto" ? `(prefers-color-scheme: ${look})` : theme === look ? "all" : "not all";
    }
  }

  function preferredLanguage() {
    const tags = [stored("veracity.language"), ...(navigator.languages || [])];
    const codes = tags.map((tag) => (tag ?? "").slice(0, 2).toLowerCase());
    return codes.find((code) => LANGUAGES.includes(code)) || "en";
  }

  /** @param {string} language @returns {Promise<Record<string, string>>} */
  async function loadStrings(language) {
    const response = await fetch(new URL(`locales/${language}.json`, script.src));
    if (!response.ok) throw new Error(`locales/${language}.json: HTTP ${response.status}`);
    return response.json();
  }

  const theme = stored("veracity.theme");
  if (theme === "light" || theme === "dark") showTheme(theme);
  const language = preferredLanguage();
  return { language, loadStrings, showTheme, strings: loadStrings(language) };
})();
