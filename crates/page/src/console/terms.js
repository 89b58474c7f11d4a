// Terms: words of the text with the translations that they must have.

const BARE = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]/u; // Written without blanks.

// The user's terms as { terms, problem }; a term is { source, pattern, target }.
function readTerms(text) {
  const terms = [];
  const wrong = [];
  text.split("\n").forEach((line, at) => {
    const [source, target] = line.split(/=|\t/).map((side) => side.trim());
    if (source && target && line.split(/=|\t/).length === 2) {
      terms.push({ source, pattern: patternOf(source.normalize("NFC")), target });
    } else if (line.trim()) {
      wrong.push(at + 1);
    }
  });
  const lines = wrong.length > 1 ? `Lines ${wrong.join(", ")} are` : `Line ${wrong[0]} is`;
  return { terms, problem: wrong.length ? `${lines} not of the form “source = target”.` : "" };
}

// Finds `source` as whole words, in any case.
function patternOf(source) {
  const escaped = source.replace(/[.*+?^${}()|[\]\\/]/g, "\\$&").replace(/\s+/g, "\\s+");
  const edge = (character, test) => (BARE.test(character) ? "" : test);
  return new RegExp(`${edge(source[0], "(?<![\\p{L}\\p{N}])")}${escaped}${edge(source.at(-1), "(?![\\p{L}\\p{N}])")}`, "iu");
}

let read = { text: "", terms: [], problem: "" };

// The current terms.
function presentTerms() {
  if (read.text !== settings.terms) {
    read = { text: settings.terms, ...readTerms(settings.terms) };
  }
  return read;
}

// The terms with their translations into the language of `panel`, if it is that of the first panel; those in `source` alone, if it
// is given.
function termsFor(panel, source) {
  const terms = panel.model.target === panels[0].model.target ? presentTerms().terms : [];
  const found = source === undefined ? terms : terms.filter(({ pattern }) => pattern.test(source.normalize("NFC")));
  return Object.fromEntries(found.map(({ source, target }) => [source, target]));
}

// The field of a request with these terms, if there are any.
function withTerms(panel, source) {
  const terms = termsFor(panel, source);
  return Object.keys(terms).length ? { terms } : {};
}

function showTerms() {
  const { terms, problem } = presentTerms();
  element("terms-problem").textContent = problem;
  element("terms-count").textContent = terms.length ? `(${terms.length})` : "";
}

// Translates the sentences of `panel` that have terms with them, together where they have the same.
async function applyTerms(panel, signal) {
  const groups = new Map();
  for (const { sentence } of sentencesIn(panel)) {
    const { source, plain, meant = "{}" } = sentence;
    const needed = JSON.stringify(termsFor(panel, source));
    if (needed === meant) {
      continue;
    }
    if (needed === "{}") {
      Object.assign(sentence, { meant: needed, notes: [] });
      retell(panel, sentence, plain);
    } else {
      groups.set(needed, (groups.get(needed) ?? new Set()).add(sentence));
    }
  }
  for (const [needed, sentences] of groups) {
    await translateWith(panel, signal, needed, [...sentences]);
  }
}

const TOGETHER = 8; // Sentences with the same terms in a request.

// Translates `sentences` with the terms `needed`.
async function translateWith(panel, signal, needed, sentences) {
  for (let at = 0; at < sentences.length; at += TOGETHER) {
    const some = sentences.slice(at, at + TOGETHER);
    const request = { model: panel.model.name, text: some.map(({ source }) => source), terms: JSON.parse(needed), ...WHOLE, ...beamOption() };
    const { results } = await ask("api/translate", request, signal);
    some.forEach((sentence, at) => {
      retell(panel, sentence, results[at].translations[0].text);
      Object.assign(sentence, { meant: needed, notes: results[at].warnings });
    });
  }
}

// What was said about terms in the sentences of `panel`.
const termNotes = (panel) => [...new Set(sentencesIn(panel).flatMap(({ sentence }) => sentence.notes ?? []))];
