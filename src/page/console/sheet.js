// A translated text on the page: its parts, each as it grows and then sentence by sentence, and a copy of the source behind the
// field in which it is written, which shows where its sentences are.

const placeOf = new WeakMap(); // From the element of a sentence to its place in the source: { start, end }.

const isFirst = (panel) => panels[0] === panel;
const sentencesIn = (panel) => panel.parts.flatMap((part) => part.sentences);

// Lays out the text anew, with what is known of its parts. Where nothing is known yet, the former translation stays.
function layOut(panel) {
  const before = panel.parts;
  const seen = new Set();
  panel.parts = partsOf(settings.text, panel.model.source).map((part, at) => {
    const old = before[at];
    const growing = old && !old.blank && !part.blank ? translationOf(old) : "";
    const twin = seen.has(part.text);
    seen.add(part.text);
    return { ...part, twin, found: null, sentences: [], growing, node: make("span"), mirror: make("span") };
  });
  panel.known = new Map([...panel.known].filter(([text]) => seen.has(text)));
  panel.parts.forEach((part) => showPart(panel, part));
  panel.result.replaceChildren(make("div", { class: "text", dir: "auto", lang: panel.model.target ?? "" }, ...panel.parts.map(({ node }) => node)));
  if (isFirst(panel)) {
    element("mirror").replaceChildren(...panel.parts.map(({ mirror }) => mirror), LAST);
  }
}

const LAST = "\u200b"; // A line break at the end takes a line in the field.

function showSource() {
  element("mirror").replaceChildren(`${settings.text}${LAST}`);
}

// The translation of a part as it is at the moment.
function translationOf({ blank, text, found, growing }) {
  if (blank) {
    return text;
  }
  return found ? `${found.sentences.map(({ before, translation }) => before + translation).join("")}${found.after}` : growing;
}

const wholeTranslation = (panel) => panel.parts.map(translationOf).join("");

function showPart(panel, part) {
  const { text, start, blank, node, mirror } = part;
  part.found = panel.known.get(text) ?? null;
  node.className = part.found || blank ? "" : "growing";
  if (!part.found) {
    node.textContent = translationOf(part);
    mirror.textContent = text;
    return;
  }
  part.sentences = part.found.sentences.map((sentence) => placed(sentence, start));
  node.replaceChildren(...part.sentences.flatMap(({ sentence, node }) => [sentence.before, node]), part.found.after);
  let at = 0;
  mirror.replaceChildren();
  for (const { sentence, mirror: own } of part.sentences) {
    mirror.append(text.slice(at, sentence.start), own);
    at = sentence.start + sentence.source.length;
  }
  mirror.append(text.slice(at));
}

// `sentence` of a part that begins at `start`, with its elements.
function placed(sentence, start) {
  const { source, translation } = sentence;
  const node = make("span", { class: "sentence", role: "button", tabIndex: -1, "aria-pressed": "false", "aria-description": source }, translation);
  const mirror = make("span", { class: "sentence" }, source);
  const place = { start: start + sentence.start, end: start + sentence.start + source.length };
  placeOf.set(node, place);
  placeOf.set(mirror, place);
  return { sentence, place, node, mirror };
}

// Gives `sentence` another translation, wherever it stands.
function retell(panel, sentence, translation) {
  sentence.translation = translation;
  for (const { node } of sentencesIn(panel).filter((one) => one.sentence === sentence)) {
    node.textContent = translation;
  }
}
