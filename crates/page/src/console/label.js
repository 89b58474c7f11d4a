// Taggers and classifiers.

const LABELS_SHOWN = 8;

async function beginTagging(panel, signal) {
  const request = { model: panel.model.name, text: inputLine() };
  const { tokens, tags, warnings } = await ask("api/tag", request, signal);
  warn(panel, warnings);
  const show = (notes) => panel.result.replaceChildren(make("div", { class: "tokens" }, ...tokens.map((token, at) => chip({ token, note: notes[at] }))));
  show(tags);
  const explanation = await explanationIfAny(request, signal);
  if (explanation?.tags.length === tokens.length) {
    show(explanation.tags.map(named));
  }
  explained(panel, explanation);
}

// Recurrent taggers have no attention to explain.
async function explanationIfAny(request, signal) {
  try {
    return await ask("api/explain", request, signal);
  } catch (error) {
    if (error instanceof Refused && error.status === 422) {
      return null;
    }
    throw error;
  }
}

async function beginClassification(panel, signal) {
  const request = { model: panel.model.name, text: inputLine() };
  const { labels, warnings } = await ask("api/classify", { ...request, count: LABELS_SHOWN }, signal);
  warn(panel, warnings);
  const rows = labels.map(({ label, probability }) => make("li", {}, make("bdi", {}, label), ...share(probability)));
  panel.result.replaceChildren(make("ol", { class: "labels" }, ...rows));
  explained(panel, await ask("api/explain", request, signal));
}
