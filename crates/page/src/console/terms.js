// Terms: phrases that a translation must contain where the text contains a given phrase.

const BARE = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]/u; // Written without blanks.

// The user's terms as { terms, problem }; a term is { pattern, target }.
function readTerms(text) {
  const terms = [];
  const wrong = [];
  text.split("\n").forEach((line, at) => {
    const [source, target] = line.split(/=|\t/).map((side) => side.trim());
    if (source && target && line.split(/=|\t/).length === 2) {
      terms.push({ pattern: patternOf(source.normalize("NFC")), target });
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

// The phrases that a translation of `source` by `panel` must contain: terms are in the language of the first panel.
function phrasesFor(panel, source) {
  const terms = panel.model.target === panels[0].model.target ? presentTerms().terms : [];
  const needed = terms.filter(({ pattern }) => pattern.test(source.normalize("NFC")));
  return [...new Set(needed.map(({ target }) => target))];
}

function showTerms() {
  const { terms, problem } = presentTerms();
  element("terms-problem").textContent = problem;
  element("terms-count").textContent = terms.length ? `(${terms.length})` : "";
}

// Translates those sentences of `panel` again whose translations lack a term, together where they need the same terms.
async function applyTerms(panel, signal) {
  const groups = new Map();
  for (const { sentence } of sentencesIn(panel)) {
    const { source, plain, meant = "[]" } = sentence;
    const phrases = phrasesFor(panel, source);
    const needed = JSON.stringify(phrases.some((phrase) => !plain.includes(phrase)) ? phrases : []);
    if (needed === meant) {
      continue;
    }
    if (needed === "[]") {
      sentence.meant = needed;
      retell(panel, sentence, plain);
    } else {
      groups.set(needed, (groups.get(needed) ?? new Set()).add(sentence));
    }
  }
  for (const [needed, sentences] of groups) {
    await demand(panel, signal, needed, [...sentences]);
  }
}

// Translates `sentences` with the phrases `needed`. If this is impossible, it is reported, and the translation is kept.
async function demand(panel, signal, needed, sentences) {
  for (let at = 0; at < sentences.length; at += TOGETHER) {
    const some = sentences.slice(at, at + TOGETHER);
    const request = { model: panel.model.name, text: some.map(({ source }) => source), phrases: JSON.parse(needed), ...WHOLE, ...beamOption() };
    try {
      const { results } = await ask("api/translate", request, signal);
      some.forEach((sentence, at) => {
        retell(panel, sentence, results[at].translations[0].text);
        sentence.meant = needed;
      });
    } catch (error) {
      if (error.status !== 422) {
        throw error;
      }
      panel.problem.textContent = error.message;
      // One of the sentences may be the cause.
      for (const sentence of some.length > 1 ? some : []) {
        await demand(panel, signal, needed, [sentence]);
      }
    }
  }
}

const TOGETHER = 8; // Sentences with the same terms in a request.

const lacking = (panel, { source, translation }) => phrasesFor(panel, source).filter((phrase) => !translation.includes(phrase));

// The message about terms that translations of `panel` do not contain.
function missingTerms(panel) {
  const missing = new Set(sentencesIn(panel).flatMap(({ sentence }) => lacking(panel, sentence)));
  return [...missing].map((phrase) => `Not every sentence could be translated with the term “${phrase}”.`);
}
