// What the user has chosen; kept in the address, so that reloading the page keeps it.

const DEFAULTS = {
  model: "",
  other: "",
  text: "",
  beam: "",
  best: "3",
  temperature: "0.8",
  top_p: "1",
  most: "100",
  seed: "0",
  attention: "", // Not blank if it is unfolded.
};
const settings = { ...DEFAULTS };

function readSettings() {
  const given = new URLSearchParams(location.hash.slice(1));
  for (const name of Object.keys(DEFAULTS)) {
    settings[name] = given.get(name) ?? DEFAULTS[name];
  }
}

// The text for models that read one line.
const inputLine = () => settings.text.trim().replace(/\s*\n\s*/g, " ");

let writing = 0;

function set(name, value) {
  settings[name] = value;
  clearTimeout(writing);
  writing = setTimeout(writeSettings, 200);
}

// Browsers limit how often the address may change.
function writeSettings() {
  const changed = Object.entries(settings).filter(([name, value]) => value !== DEFAULTS[name]);
  history.replaceState(null, "", `#${new URLSearchParams(changed)}`);
}

const THEME = "attentive-theme"; // In the browser's storage.

function applyTheme(theme) {
  document.documentElement.style.colorScheme = theme || "light dark";
}

// Calls `changed` whenever the colours change.
function listenToTheme(changed) {
  const select = element("theme");
  select.value = localStorage.getItem(THEME) ?? "";
  applyTheme(select.value);
  select.onchange = () => {
    localStorage.setItem(THEME, select.value);
    applyTheme(select.value);
    changed();
  };
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", changed);
}
