// The languages of the models that translate.

const NAMES = new Intl.DisplayNames("en", { type: "language" });

// The English name of a language by its code, or the code.
function languageName(code) {
  try {
    return NAMES.of(code) ?? code;
  } catch {
    return code;
  }
}

const translators = () => models.filter(({ task, source, target }) => task === "translate" && source && target);
const modelFor = (source, target) => translators().find((model) => model.source === source && model.target === target);

const DETECT = "?"; // The choice of the language of the text.

// The model that translates from `source`, if possible into the present language.
const sourceModel = (source) => modelFor(source, element("to").value) ?? translators().find((model) => model.source === source);

// Finds out the language of the text, and chooses the model for it or says what it is.
async function recognize(panel, signal) {
  const { source } = panel.model;
  if (!source) {
    return;
  }
  let language = null;
  try {
    // Some files would be broken without their end.
    const text = isFile() && !/\.(html?|md|markdown|srt|vtt)$/i.test(settings.file) ? fileText() : settings.text.slice(0, ENOUGH);
    const asked = isFile() ? { text, name: settings.file } : { text };
    ({ language } = await ask("api/detect", asked, signal));
  } catch {
    return; // The translation itself tells what is wrong.
  }
  const other = language && language !== source ? sourceModel(language) : undefined;
  if (settings.detect && other && isFirst(panel)) {
    chooseModel(other);
  } else {
    recognized(panel, language === source ? null : language, other);
  }
}

const ENOUGH = 4000; // Characters that tell the language.

// Says that the text looks like another language than the model reads, and offers the model `other`.
function recognized(panel, language, other) {
  const node = panel.language;
  node.hidden = !language;
  if (language) {
    const own = panel.model.source;
    const told = `This looks like ${languageName(language)}, but ${panel.model.name} reads ${languageName(own)}.`;
    const offer = other ? [" ", button(`Translate from ${languageName(language)}`, () => chooseModel(other))] : [];
    node.replaceChildren(told, ...offer);
  }
}

// Shows the languages of `model` and the other languages that can be chosen, if they are known.
function showLanguages(model) {
  const known = model.task === "translate" && Boolean(model.source && model.target);
  element("languages").hidden = !known;
  if (!known) {
    return;
  }
  const { source, target } = model;
  const named = (codes) => [...new Set(codes)].map((code) => [code, languageName(code)]);
  const sources = named(translators().map((one) => one.source));
  const detected = settings.detect ? `Detect language: ${languageName(source)}` : "Detect language";
  const detection = sources.length > 1 ? [[DETECT, detected]] : [];
  fillSelect(element("from"), [...detection, ...sources], detection.length && settings.detect ? DETECT : source);
  fillSelect(element("to"), named(translators().filter((one) => one.source === source).map((one) => one.target)), target);
  const [from, to] = [languageName(target), languageName(source)];
  const can = modelFor(target, source) !== undefined;
  // A disabled button could not say why it is.
  element("swap").setAttribute("aria-disabled", `${!can}`);
  element("swap").title = can ? `Translate ${from} into ${to}` : `No model here translates ${from} into ${to}.`;
  element("swap-reason").textContent = "";
}

function listenToLanguages() {
  const [from, to] = [element("from"), element("to")];
  from.onchange = () => {
    set("detect", from.value === DETECT ? "1" : "");
    if (settings.detect) {
      showPanels();
    } else {
      chooseModel(sourceModel(from.value));
    }
  };
  to.onchange = () => chooseModel(modelFor(from.value, to.value));
  element("swap").onclick = () => {
    const [panel] = panels;
    if (element("swap").getAttribute("aria-disabled") === "true") {
      // Emptied first, so that it is announced again.
      element("swap-reason").textContent = "";
      requestAnimationFrame(() => (element("swap-reason").textContent = element("swap").title));
      return;
    }
    const text = wholeTranslation(panel);
    const back = modelFor(panel.model.target, panel.model.source);
    if (text.trim()) {
      writeText(text);
    }
    chooseModel(back);
  };
}
