// The microscope: one sentence of a translation, with the probability of each token, its alternatives, other translations, and
// the attention.

// The elements of the microscope of `panel`.
function microscopeOf(panel) {
  const name = make("span", { class: "quiet" });
  const [back, on] = [button("‹", () => step(panel, -1)), button("›", () => step(panel, 1))];
  back.setAttribute("aria-label", "Previous sentence");
  on.setAttribute("aria-label", "Next sentence");
  const place = make("span", { class: "quiet", role: "status" });
  const source = make("p", { class: "examined", dir: "auto", lang: panel.model.source ?? "" });
  const problem = make("p", { class: "problem", role: "alert" });
  const fields = make("div", { class: "row" }, ...optionFields([panel.model], () => start()));
  const bar = make("div", { class: "row" }, back, place, on);
  const root = make("details", { class: "microscope", open: settings.inside !== "" });
  root.append(make("summary", {}, "Look inside: tokens, probabilities, alternatives, attention ", name));
  root.append(make("p", { class: "quiet" }, factsOf(panel.model)), fields, bar, source, problem, panel.body, panel.attention);
  root.ontoggle = () => {
    set("inside", root.open ? "1" : "");
    // The microscopes of two models open together.
    panels.forEach(({ microscope }) => microscope && (microscope.root.open = root.open));
    examine(panel);
  };
  return { root, name, bar, back, on, place, source, problem, stop: new AbortController() };
}

// Chooses sentence number `at` of each translation; an open microscope shows it.
function chooseSentence(at) {
  for (const panel of panels) {
    panel.chosen = at;
    examine(panel);
  }
}

function step(panel, by) {
  chooseSentence(panel.chosen + by);
  light(chosenSentence(panel)?.place ?? null);
}

function chosenSentence(panel) {
  const all = sentencesIn(panel);
  panel.chosen = Math.min(Math.max(panel.chosen, 0), Math.max(all.length - 1, 0));
  return all[panel.chosen];
}

// Examines the chosen sentence if the microscope is open. Keeps its translation unless `anew` is true.
async function examine(panel, anew = false) {
  const { microscope } = panel;
  lookAway(panel);
  const chosen = chosenSentence(panel);
  const isOpen = microscope.root.open;
  sentencesIn(panel).forEach(({ node }) => node.setAttribute("aria-pressed", `${isOpen && node === chosen?.node}`));
  showPlace(panel, chosen);
  if (!isOpen) {
    return;
  }
  microscope.problem.textContent = "";
  if (!chosen) {
    panel.body.replaceChildren();
    explained(panel, null);
    return;
  }
  const stop = new AbortController();
  microscope.stop = stop;
  microscope.root.setAttribute("aria-busy", "true");
  try {
    await lookInto(panel, stop.signal, chosen.sentence, anew);
  } catch (error) {
    if (!stop.signal.aborted) {
      explained(panel, null);
      microscope.problem.textContent = isAboutKey(error) ? "" : error.message;
    }
  }
  if (!stop.signal.aborted) {
    microscope.root.removeAttribute("aria-busy");
  }
}

// Cancels the current request of the microscope.
function lookAway({ microscope }) {
  microscope?.stop.abort();
  microscope?.root.removeAttribute("aria-busy");
}

function showPlace(panel, chosen) {
  const { bar, back, on, place, source } = panel.microscope;
  const count = sentencesIn(panel).length;
  bar.hidden = count < 2;
  back.disabled = panel.chosen === 0;
  on.disabled = panel.chosen >= count - 1;
  place.textContent = `Sentence ${panel.chosen + 1} of ${count}`;
  source.textContent = chosen ? chosen.sentence.source : "There is no translation yet.";
}

async function lookInto(panel, signal, sentence, anew) {
  const { source, prefix = [] } = sentence;
  const demands = prefix.length ? { prefix_tokens: prefix } : withTerms(panel, source);
  const request = { model: panel.model.name, text: source, ...WHOLE, ...translateOptions(panel.model), ...demands };
  const { results } = await ask("api/translate", request, signal);
  const { translations } = results[0];
  const kept = anew ? 0 : translations.findIndex(({ text }) => text.trim() === sentence.translation.trim());
  await showTranslation(panel, signal, { sentence, translations }, Math.max(kept, 0));
}

// Translates `sentence` again after `prefix`, the tokens that the user has chosen.
function rewrite(panel, sentence, prefix) {
  sentence.prefix = prefix;
  examine(panel, true);
}

// Shows translation number `number` of `examined`, and makes it the translation of the sentence.
async function showTranslation(panel, signal, examined, number) {
  const { sentence, translations } = examined;
  const chosen = translations[number];
  retell(panel, sentence, chosen.text);
  const list = translations.length > 1 ? [bestList(panel, signal, examined, number)] : [];
  const show = (tokens) => keepFocus(panel, () => panel.body.replaceChildren(translationTokens(panel, sentence, tokens), ...list));
  show(scoredTokens(chosen));
  const tokens = withoutEnd(chosen.tokens);
  const explanation = await ask("api/explain", { model: panel.model.name, text: sentence.source, target_tokens: tokens }, signal);
  show(explanation.written);
  explained(panel, explanation);
  focusChoice(panel);
}

// Replaces the body of `panel`; the chosen translation keeps the focus if one had it.
function keepFocus(panel, replace) {
  const had = document.activeElement?.closest(".best") && panel.body.contains(document.activeElement);
  replace();
  if (had) {
    panel.body.querySelector("[aria-checked=true]").focus();
  }
}

function translationTokens(panel, sentence, tokens) {
  const { prefix = [] } = sentence;
  const spelled = tokens.map(({ token }) => token);
  const given = prefix.every((token, place) => spelled[place] === token) ? prefix.length : 0;
  const choose = (place, token) => rewrite(panel, sentence, [...spelled.slice(0, place), token]);
  const list = tokenList("Tokens of the translation", tokens, given, choose);
  const free = button("Undo the choice", () => rewrite(panel, sentence, []));
  free.hidden = !given;
  const title = make("h3", {}, "Tokens");
  const hint = make("p", { class: "quiet" }, "The stronger the shade, the less likely the token. Click one to see its alternatives.");
  return make("section", {}, title, hint, list, free);
}

function bestList(panel, signal, examined, number) {
  const rows = examined.translations.map(({ text, score, log_prob }, at) => {
    const numbers = `score ${score.toFixed(3)}, log-probability ${log_prob.toFixed(3)}`;
    const row = make("button", { type: "button", role: "radio", class: "candidate", "aria-checked": `${at === number}` });
    row.append(make("span", { dir: "auto" }, text || "(empty)"), make("small", {}, numbers));
    row.onclick = () => showAnother(panel, signal, examined, at);
    return row;
  });
  const title = make("h3", { id: unique("best") }, "Best translations");
  const list = make("div", { class: "best", role: "radiogroup", "aria-labelledby": title.id }, ...rows);
  rove(list, COLUMN);
  return make("section", {}, title, list);
}

async function showAnother(panel, signal, examined, number) {
  try {
    await showTranslation(panel, signal, examined, number);
  } catch (error) {
    if (!signal.aborted) {
      panel.microscope.problem.textContent = error.message;
    }
  }
}
