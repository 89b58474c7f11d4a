// A translated text on the page: its parts, each while it grows and then sentence by sentence, and a copy of the source behind
// the input field, which shows the sentences of the source.

const placeOf = new WeakMap(); // From the element of a sentence to its place in the source: { start, end }.

const WEAK = 0.5; // Sentences whose tokens have a lower probability on average are marked.
const MOST_SPOKEN = 20; // Parts of a translation that is read aloud as it comes.

const isFirst = (panel) => panels[0] === panel;
const sentencesIn = (panel) => panel.parts.flatMap((part) => part.sentences);

// Lays out the text again, with the known translations of its parts. Parts without a translation keep the previous one.
function layOut(panel) {
  const before = panel.parts;
  panel.twins = new Map();
  panel.parts = partsOf(settings.text, panel.model.source).map((part, at) => {
    const old = before[at];
    const growing = old && !old.blank && !part.blank ? translationOf(old) : "";
    const own = { ...part, found: null, sentences: [], growing, node: make("span"), mirror: make("span", { class: "part" }) };
    const twins = panel.twins.get(own.text) ?? [];
    twins.push(own);
    panel.twins.set(own.text, twins);
    return own;
  });
  panel.known = new Map([...panel.known].filter(([text]) => panel.twins.has(text)));
  panel.changed.clear();
  panel.parts.forEach((part) => showPart(panel, part));
  panel.result.setAttribute("aria-live", panel.parts.length > MOST_SPOKEN ? "off" : "polite");
  panel.result.replaceChildren(make("div", { class: "text", dir: "auto", lang: panel.model.target ?? "" }, ...blocksOf(panel.parts, "node")));
  if (isFirst(panel)) {
    const blocks = blocksOf(panel.parts, "mirror");
    blocks.at(-1).append(LAST);
    element("mirror").replaceChildren(...blocks);
  }
}

const BLOCK = 30; // Parts; a block ends with a line.

// The elements `name` of `parts` in blocks, so that a change makes browsers lay out a block instead of the whole text.
function blocksOf(parts, name) {
  const blocks = [[]];
  for (const part of parts) {
    blocks.at(-1).push(part[name]);
    if (blocks.at(-1).length >= BLOCK && part.text.endsWith("\n")) {
      blocks.push([]);
    }
  }
  return blocks.map((block) => make("div", {}, ...block));
}

const LAST = "\u200b"; // A line break at the end takes a line in the field.

function showSource() {
  element("mirror").replaceChildren(`${settings.text}${LAST}`);
}

// The current translation of a part.
function translationOf({ blank, text, found, growing }) {
  if (blank) {
    return text;
  }
  return found ? `${found.sentences.map(({ before, translation }) => before + translation).join("")}${found.after}` : growing;
}

const wholeTranslation = (panel) => panel.file ?? panel.parts.map(translationOf).join("");

// Shows `parts`, immediately or soon: browsers lay out all of a long text whenever a part of it changes.
function showSoon(panel, parts) {
  parts.forEach((part) => panel.changed.add(part));
  if (!panel.showing) {
    panel.showing = setTimeout(() => showNow(panel), panel.pace);
    if (performance.now() - panel.shown > panel.pace) {
      showNow(panel);
    }
  }
}

const SHARE = 4; // Of the time, a fourth is for showing what has changed.

function showNow(panel) {
  const start = performance.now();
  clearTimeout(panel.showing);
  panel.showing = 0;
  panel.changed.forEach((part) => showPart(panel, part));
  panel.changed.clear();
  panel.result.getBoundingClientRect(); // Lays it out.
  panel.shown = performance.now();
  panel.pace = Math.max(FASTEST, SHARE * (panel.shown - start));
}

const FASTEST = 30; // Milliseconds.

function showPart(panel, part) {
  const { text, start, blank, node, mirror } = part;
  part.found = panel.known.get(text) ?? null;
  node.className = part.found || blank ? "part" : "part growing";
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
  const { source, translation, probability } = sentence;
  const node = make("span", { class: "sentence", role: "button", tabIndex: -1, "aria-pressed": "false", "aria-description": source }, translation);
  if (probability < WEAK) {
    node.classList.add("weak");
    node.title = `The model is not sure of this sentence: ${percent(probability)} per token on average.`;
  }
  const mirror = make("span", { class: "sentence" }, source);
  const place = { start: start + sentence.start, end: start + sentence.start + source.length };
  placeOf.set(node, place);
  placeOf.set(mirror, place);
  return { sentence, place, node, mirror };
}

// Gives `sentence` another translation, in all places. The blanks around it belong to the text.
function retell(panel, sentence, translation) {
  const { plain } = sentence;
  const [before, after] = [plain.length - plain.trimStart().length, plain.length - plain.trimEnd().length];
  sentence.translation = plain.slice(0, before) + translation.trim() + plain.slice(plain.length - after);
  for (const { node } of sentencesIn(panel).filter((one) => one.sentence === sentence)) {
    node.textContent = sentence.translation;
  }
}
