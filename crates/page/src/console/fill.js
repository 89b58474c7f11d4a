// Masked language models: candidates for each gap, and the attention.

const MASK = "<mask>";
const CANDIDATES = 8; // For each gap.

async function beginFilling(panel, signal) {
  if (!settings.text.includes(MASK)) {
    clear(panel);
    panel.status.textContent = `Write ${MASK} in place of a word, or select a word and click “Mask the selection”.`;
    return;
  }
  const text = inputLine();
  const filled = await ask("api/fill", { model: panel.model.name, text, count: CANDIDATES }, signal);
  panel.status.textContent = "";
  warn(panel, filled.warnings);
  panel.result.replaceChildren(make("p", { class: "text", dir: "auto" }, filled.text));
  const gaps = filled.gaps.map((guesses, gap) => gapList(text, guesses, gap, filled.gaps.length));
  panel.body.replaceChildren(make("div", { class: "gaps" }, ...gaps));
  explained(panel, await ask("api/explain", { model: panel.model.name, text }, signal));
}

function gapList(text, guesses, gap, gaps) {
  const title = make("h3", { id: unique("gap") }, gaps > 1 ? `Gap ${gap + 1}` : "Candidates");
  const rows = guesses.map((guess) => alternative({ ...guess, token: `${guess.joined ? "##" : ""}${guess.token}` }, false, () => setText(fillIn(text, gap, guess))));
  const list = make("div", { role: "group", "aria-labelledby": title.id }, ...rows);
  rove(list, COLUMN);
  return make("section", {}, title, make("p", { class: "quiet" }, "Choose one to write it into the text."), list);
}

// The text with a guess in gap number `gap`.
function fillIn(text, gap, { token, joined }) {
  const parts = text.split(MASK);
  const before = parts.slice(0, gap + 1).join(MASK);
  const after = parts.slice(gap + 1).join(MASK);
  return (joined ? before.trimEnd() : before) + token + after;
}
