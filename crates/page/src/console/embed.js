// Encoders: the similarity between the lines of the text.

const MOST_LINES = 30; // In the table.

async function beginEmbedding(panel, signal) {
  const lines = settings.text.split("\n").map((line) => line.trim()).filter((line) => line);
  const shown = lines.slice(0, MOST_LINES);
  const { results } = await ask("api/embed", { model: panel.model.name, text: shown }, signal);
  results.forEach(({ warnings }) => warn(panel, warnings));
  const vectors = results.map(({ vector }) => vector);
  const more = lines.length > shown.length ? ` The first ${MOST_LINES} of ${lines.length} lines are compared.` : "";
  panel.status.textContent = `Vectors of ${vectors[0].length} numbers; the table shows their cosine similarities.${more}`;
  panel.result.replaceChildren(make("div", { class: "table" }, similarityTable(shown, vectors)));
}

function similarityTable(lines, vectors) {
  const number = (at) => make("th", { scope: "col" }, `${at + 1}`);
  const head = make("tr", {}, make("th", { scope: "col" }, "Line"), ...lines.map((_, at) => number(at)));
  const rows = lines.map((line, at) => {
    const name = make("th", { scope: "row" }, `${at + 1} `, make("bdi", {}, line));
    return make("tr", {}, name, ...vectors.map((other) => make("td", {}, cosine(vectors[at], other).toFixed(2))));
  });
  return make("table", {}, make("thead", {}, head), make("tbody", {}, ...rows));
}

function cosine(one, other) {
  const product = (a, b) => a.reduce((sum, number, at) => sum + number * b[at], 0);
  return product(one, other) / (Math.sqrt(product(one, one) * product(other, other)) || 1);
}
