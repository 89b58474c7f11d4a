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

// Shows the languages of `model` and the other languages that can be chosen, if they are known.
function showLanguages(model) {
  const known = model.task === "translate" && Boolean(model.source && model.target);
  element("languages").hidden = !known;
  if (!known) {
    return;
  }
  const { source, target } = model;
  const named = (codes) => [...new Set(codes)].map((code) => [code, languageName(code)]);
  fillSelect(element("from"), named(translators().map((one) => one.source)), source);
  fillSelect(element("to"), named(translators().filter((one) => one.source === source).map((one) => one.target)), target);
  const [from, to] = [languageName(target), languageName(source)];
  const can = modelFor(target, source) !== undefined;
  element("swap").disabled = !can;
  element("swap").title = can ? `Translate ${from} into ${to}` : `No model here translates ${from} into ${to}.`;
}

function listenToLanguages() {
  const [from, to] = [element("from"), element("to")];
  from.onchange = () => chooseModel(modelFor(from.value, to.value) ?? translators().find(({ source }) => source === from.value));
  to.onchange = () => chooseModel(modelFor(from.value, to.value));
  element("swap").onclick = () => {
    const [panel] = panels;
    const text = wholeTranslation(panel);
    const back = modelFor(panel.model.target, panel.model.source);
    if (text.trim()) {
      writeText(text);
    }
    chooseModel(back);
  };
}
