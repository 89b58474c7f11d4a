// Terms: what a translation must contain where the text contains something.

const BARE = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]/u; // Written without blanks.

// What the user wrote as { terms, problem }; a term is { pattern, target }.
function readTerms(text) {
  const terms = [];
  const wrong = [];
  text.split("\n").forEach((line, at) => {
    const [source, target] = line.split(/=|\t/).map((side) => side.trim());
    if (source && target && line.split(/=|\t/).length === 2) {
      terms.push({ pattern: patternOf(source), target });
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

// The phrases that the translation of `source` must contain.
function phrasesFor(source) {
  const needed = readTerms(settings.terms).terms.filter(({ pattern }) => pattern.test(source));
  return [...new Set(needed.map(({ target }) => target))];
}

function showTerms() {
  const { terms, problem } = readTerms(settings.terms);
  element("terms-problem").textContent = problem;
  element("terms-count").textContent = terms.length ? `(${terms.length})` : "";
}

// Translates again those sentences of `panel` whose translations lack a term, together where they need the same.
async function applyTerms(panel, signal) {
  const groups = new Map();
  for (const { sentence } of sentencesIn(panel)) {
    const { source, plain, meant = "[]" } = sentence;
    const phrases = phrasesFor(source);
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

// Translates `sentences` with the phrases `needed`. Those that cannot be had are reported, and the translations stay.
async function demand(panel, signal, needed, sentences) {
  while (sentences.length) {
    const some = sentences.splice(0, Math.min(limits.texts, TOGETHER));
    const request = { model: panel.model.name, text: some.map(({ source }) => source), phrases: JSON.parse(needed), ...beamOption() };
    try {
      const { results } = await ask("api/translate", request, signal);
      some.forEach((sentence, at) => retell(panel, sentence, results[at].translations[0].text));
    } catch (error) {
      if (error.status !== 422) {
        throw error;
      }
      panel.problem.textContent = error.message;
      return;
    }
    some.forEach((sentence) => (sentence.meant = needed));
  }
}

const TOGETHER = 16; // Sentences with the same terms in a request.

const lacking = ({ source, translation }) => phrasesFor(source).filter((phrase) => !translation.includes(phrase));

// What is said of terms that translations of `panel` do not contain.
function missingTerms(panel) {
  const missing = new Set(sentencesIn(panel).flatMap(({ sentence }) => lacking(sentence)));
  return [...missing].map((phrase) => `Not every sentence could be translated with the term “${phrase}”.`);
}
