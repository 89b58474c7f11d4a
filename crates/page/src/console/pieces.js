// A text divided into the pieces that are sent: lines, and the sentences of very long lines. The blanks between them are
// unchanged. The server divides each piece into its sentences.

const PIECE = 1500; // Characters of a piece, unless a sentence is longer.
const WHOLE = { split_sentences: false }; // In requests for a text that is a sentence.
const ABBREVIATED = /(^|\P{L})(\p{L}|Mrs?|Ms|Dr|Prof|St|No|Nr|Hr|Fr|bzw|vgl|etc)\.\s*$/u;
const LONGEST_DOUBT = 1500; // Characters of what may be one sentence.

// The parts of `text`, in order and complete: { text, blank, start }. Parts that are not blank have no line break.
function partsOf(text, language) {
  const parts = [];
  let start = 0;
  for (const line of text.split(/(\n+)/)) {
    const blank = line.trim() === "";
    for (const piece of blank || line.length <= PIECE ? [line] : piecesOf(line, language)) {
      if (piece) {
        parts.push({ text: piece, blank: blank || piece.trim() === "", start });
        start += piece.length;
      }
    }
  }
  return parts;
}

// Divides a long line between sentences.
function piecesOf(line, language) {
  const pieces = [""];
  let maybe = ""; // Ends with what may be an abbreviation, so that the line is not cut behind it.
  for (const { segment } of new Intl.Segmenter(known(language), { granularity: "sentence" }).segment(line)) {
    maybe += segment;
    if (ABBREVIATED.test(segment) && maybe.length < LONGEST_DOUBT) {
      continue;
    }
    if (pieces.at(-1) && pieces.at(-1).length + maybe.length > PIECE) {
      pieces.push("");
    }
    pieces[pieces.length - 1] += maybe;
    maybe = "";
  }
  pieces[pieces.length - 1] += maybe;
  return pieces;
}

// `language` if the browser knows it.
function known(language) {
  try {
    return Intl.Segmenter.supportedLocalesOf(language ? [language] : [])[0];
  } catch {
    return undefined; // Not a code.
  }
}

// The sentences of a translated piece: { before, source, plain, translation, probability, start }, where `start` is the position in the
// piece, and `plain` the translation without constraints.
function sentencesOf(sentences) {
  let at = 0;
  return sentences.map(({ before, source, translation, probability }) => {
    const start = at + before.length;
    at = start + source.length;
    return { before, source, plain: translation, translation, probability, start };
  });
}
