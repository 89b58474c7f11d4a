// The user's choices, kept in the address, and the user's texts, kept in the tab. Both survive reloading the page, but texts
// are not stored in the history and are lost when the tab is closed.

const CHOICES = {
  model: "",
  other: "",
  beam: "",
  best: "3",
  temperature: "0.8",
  top_p: "1",
  most: "100",
  seed: "0",
  inside: "", // Not blank if the microscope is open.
  attention: "", // Not blank if it is unfolded.
  detect: "", // Not blank if the language of the text chooses the model.
};
const WRITTEN = { text: "", terms: "", file: "" }; // The file that the text came from, by its name.
const LONGEST_KEPT = 500_000; // In characters; browsers limit what a tab may keep.
const settings = { ...CHOICES, ...WRITTEN };

const keptAs = (name) => `attentive-${name}`; // In the session's storage.

// The address may contain texts, as in links.
function readSettings() {
  const given = new URLSearchParams(location.hash.slice(1));
  for (const name of Object.keys(CHOICES)) {
    settings[name] = given.get(name) ?? CHOICES[name];
  }
  for (const name of Object.keys(WRITTEN)) {
    settings[name] = given.get(name) ?? sessionStorage.getItem(keptAs(name)) ?? WRITTEN[name];
    keep(name);
  }
  writeSettings();
}

// The text for models that read one line.
const inputLine = () => settings.text.trim().replace(/\s*\n\s*/g, " ");

let writing = 0;

function set(name, value) {
  settings[name] = value;
  clearTimeout(writing);
  writing = setTimeout(writeSettings, 200);
  if (name in WRITTEN) {
    keep(name);
  }
}

function keep(name) {
  const text = settings[name];
  try {
    sessionStorage.setItem(keptAs(name), text.length > LONGEST_KEPT ? "" : text);
  } catch {
    sessionStorage.removeItem(keptAs(name));
  }
}

// Browsers limit how often the address may change.
function writeSettings() {
  const changed = Object.keys(CHOICES).filter((name) => settings[name] !== CHOICES[name]);
  const hash = new URLSearchParams(changed.map((name) => [name, settings[name]]));
  history.replaceState(null, "", `#${hash}`);
}

const THEME = "attentive-theme"; // In the browser's storage.

function applyTheme(theme) {
  document.documentElement.style.colorScheme = theme || "light dark";
}

// Calls `changed` whenever the colors change.
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
