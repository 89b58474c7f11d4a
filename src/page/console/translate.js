// Translation: the text as it grows, then the best translations, their tokens and the attention.

async function beginTranslation(panel, signal, prefix = []) {
  const request = { model: panel.model.name, text: inputLine(), ...translateOptions(panel.model) };
  if (prefix.length) {
    request.prefix_tokens = prefix;
  }
  const growing = make("p", { class: "text growing", dir: "auto" });
  let result = null;
  for await (const [name, data] of events("api/translate", request, signal)) {
    if (name === "text" && !data.index) {
      growing.textContent = data.text;
      if (!growing.isConnected) {
        panel.result.replaceChildren(growing);
      }
    } else if (name === "result") {
      result = data;
    }
  }
  if (!result) {
    throw new Error("The server ended its answer too early.");
  }
  warn(panel, result.warnings);
  panel.status.textContent = "";
  await showTranslation(panel, signal, { ...result, prefix }, 0);
}

// Shows translation number `number` of a result.
async function showTranslation(panel, signal, result, number) {
  const chosen = result.translations[number];
  const unfinished = chosen.finished === false ? [make("p", { class: "quiet" }, "Cut off: the translation is as long as the model allows.")] : [];
  panel.result.replaceChildren(make("p", { class: "text", dir: "auto" }, chosen.text), ...unfinished);
  const list = result.translations.length > 1 ? [bestList(panel, signal, result, number)] : [];
  const show = (tokens) => keepFocus(panel, () => panel.body.replaceChildren(translationTokens(panel, tokens, result.prefix), ...list));
  show(scoredTokens(chosen.tokens));
  const tokens = withoutEnd(chosen.tokens.map(({ token }) => token));
  const request = { model: panel.model.name, text: inputLine(), target_tokens: tokens };
  const explanation = await ask("api/explain", request, signal);
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

function translationTokens(panel, tokens, prefix) {
  const spelled = tokens.map(({ token }) => token);
  const given = prefix.every((token, place) => spelled[place] === token) ? prefix.length : 0;
  const choose = (place, token) => begin(panel, [...spelled.slice(0, place), token]);
  const list = tokenList("Tokens of the translation", tokens, given, choose);
  const free = make("button", { type: "button", hidden: !given }, "Undo the choice");
  free.onclick = () => begin(panel);
  const title = make("h3", {}, "Tokens");
  const hint = make("p", { class: "quiet" }, "The stronger the shade, the less likely the token. Press one to see its alternatives.");
  return make("section", {}, title, hint, list, free);
}

function bestList(panel, signal, result, number) {
  const rows = result.translations.map(({ text, score, log_prob }, at) => {
    const numbers = `score ${score.toFixed(3)}, log-probability ${log_prob.toFixed(3)}`;
    const row = make("button", { type: "button", role: "radio", class: "candidate", "aria-checked": `${at === number}` });
    row.append(make("span", { dir: "auto" }, text || "(empty)"), make("small", {}, numbers));
    row.onclick = () => showAnother(panel, signal, result, at);
    return row;
  });
  const title = make("h3", { id: unique("best") }, "Best translations");
  const list = make("div", { class: "best", role: "radiogroup", "aria-labelledby": title.id }, ...rows);
  rove(list, "ArrowUp", "ArrowDown");
  return make("section", {}, title, list);
}

async function showAnother(panel, signal, result, number) {
  try {
    await showTranslation(panel, signal, result, number);
  } catch (error) {
    if (!signal.aborted) {
      panel.problem.textContent = error.message;
    }
  }
}
