// Translation of a text of any length: in requests that the server accepts, one after the other; each part is shown while it
// grows.

const CHUNK = 3000; // Characters of a request, unless a part is longer.
const FEWEST = 50; // Characters; a request that is too much for the server even so is given up.

async function beginTranslation(panel, signal) {
  recognize(panel, signal);
  if (isFile()) {
    return translateFile(panel, signal);
  }
  panel.file = null;
  const started = performance.now();
  const options = JSON.stringify(beamOption());
  if (panel.knownWith !== options) {
    panel.known.clear();
    panel.knownWith = options;
  }
  layOut(panel);
  const asked = nextChunk(panel, Infinity).length > 0;
  await translateAll(panel, signal);
  showNow(panel);
  await applyTerms(panel, signal);
  warnOfTranslation(panel);
  const count = sentencesIn(panel).length;
  const seconds = asked ? ` in ${((performance.now() - started) / 1000).toFixed(2)} s` : "";
  panel.status.textContent = `${count} ${count === 1 ? "sentence" : "sentences"}${seconds}`;
  examine(panel);
}

async function translateAll(panel, signal) {
  let most = CHUNK;
  for (;;) {
    const chunk = nextChunk(panel, most);
    if (!chunk.length) {
      return;
    }
    showProgress(panel);
    try {
      await translateChunk(panel, signal, chunk);
    } catch (error) {
      const tooMuch = [413, 429, 503].includes(error.status) || ["busy", "timeout", "unavailable"].includes(error.code);
      if (signal.aborted || !tooMuch || most < FEWEST) {
        throw error;
      }
      panel.status.textContent = "The server is busy; trying again …";
      most /= 2;
      await pause(1000 * (error.after || 1), signal);
    }
  }
}

// The next untranslated texts, up to `most` characters of them.
function nextChunk(panel, most) {
  const missing = [...panel.twins.keys()].filter((text) => text.trim() && !panel.known.has(text));
  const chunk = [];
  let size = 0;
  for (const text of missing.slice(0, limits.texts)) {
    size += text.length;
    if (chunk.length && size > Math.min(most, limits.characters)) {
      break;
    }
    chunk.push(text);
  }
  return chunk;
}

function showProgress(panel) {
  const size = (texts) => texts.reduce((sum, text) => sum + text.length, 0);
  const all = [...panel.twins.keys()].filter((text) => text.trim());
  const done = size([...panel.known.keys()]) / size(all);
  // In steps, since the text is read aloud.
  const told = all.length > 1 ? `${10 * Math.floor(10 * done)} % translated …` : "";
  if (panel.status.textContent !== told) {
    panel.status.textContent = told;
  }
}

async function translateChunk(panel, signal, chunk) {
  const request = { model: panel.model.name, text: chunk, ...beamOption() };
  let missing = chunk.length;
  for await (const [name, data] of events("api/translate", request, signal)) {
    signal.throwIfAborted();
    const text = chunk[data.index];
    const parts = panel.twins.get(text) ?? [];
    if (name === "text") {
      parts.forEach((part) => (part.growing = data.text));
    } else if (name === "result") {
      missing -= 1;
      panel.known.set(text, foundIn(data));
      showProgress(panel);
    }
    showSoon(panel, parts);
  }
  if (missing) {
    throw new Error("The server ended its answer too early.");
  }
}

// Handles an event about a piece.
function foundIn({ sentences, after, translations, warnings }) {
  const cut = translations.some(({ finished }) => !finished) ? ["A translation was cut off at the model's length limit."] : [];
  return { sentences: sentencesOf(sentences), after, warnings: [...warnings, ...cut] };
}

const FEW = 3; // Warnings that are shown unfolded.
const MOST_WARNINGS = 100;

function warnOfTranslation(panel) {
  tellWarnings(panel, [...panel.parts.flatMap(({ found }) => found?.warnings ?? []), ...termNotes(panel)]);
}

function tellWarnings(panel, all) {
  const counts = new Map();
  all.forEach((text) => counts.set(text, (counts.get(text) ?? 0) + 1));
  const told = [...counts].map(([text, count]) => (count > 1 ? `${text} (${count} times)` : text));
  const more = told.length - MOST_WARNINGS;
  panel.told.firstChild.textContent = told.length === 1 ? "1 warning" : `${told.length} warnings`;
  panel.told.open = told.length <= FEW;
  warn(panel, [...told.slice(0, MOST_WARNINGS), ...(more > 0 ? [`There are ${more} more warnings.`] : [])]);
}

function pause(milliseconds, signal) {
  return new Promise((resolve, reject) => {
    setTimeout(resolve, milliseconds);
    signal.addEventListener("abort", () => reject(signal.reason));
  });
}
