// Language models: the text as it is continued, then its tokens and the attention.

const ENDINGS = {
  end_of_text: "The model ended the text.",
  max_new_tokens: "Stopped at the maximum number of new tokens.",
  context_full: "Stopped: the model's context is full.",
  stopped: "Stopped.",
};

// `begun.tokens`, if given, are the exact tokens to continue instead of the text.
async function beginGeneration(panel, signal, begun) {
  const from = begun ? { prompt_tokens: begun.tokens } : { prompt: settings.text };
  const request = { model: panel.model.name, ...from, ...generateOptions() };
  const prompt = make("span", { class: "prompt" }, begun ? "" : settings.text);
  const written = make("span");
  panel.result.replaceChildren(make("p", { class: "text written", dir: "auto" }, prompt, written));
  panel.body.replaceChildren();
  panel.status.textContent = "";
  explained(panel, null);
  let result = null;
  for await (const [name, data] of events("api/generate", request, signal)) {
    if (name === "prompt") {
      prompt.textContent = data.text;
    } else if (name === "text") {
      written.append(data.piece);
    } else if (name === "result") {
      result = data;
    }
  }
  if (!result) {
    throw new Error("The server ended its answer too early.");
  }
  warn(panel, result.warnings);
  panel.status.textContent = ENDINGS[result.ending] ?? "";
  await explainGeneration(panel, signal, result, begun);
}

async function explainGeneration(panel, signal, result, begun) {
  const request = { model: panel.model.name, text: begun ? "" : settings.text };
  request.target_tokens = [...(begun?.tokens ?? []), ...result.tokens];
  const explanation = await ask("api/explain", request, signal);
  const { tgt, written, warnings } = explanation;
  const choose = (place, token) => begin(panel, { tokens: [...tgt.slice(0, place + 1), token] });
  // The first token, which is the start token or comes from the text, was not generated.
  const given = begun ? begun.tokens.length - 1 : 0;
  const list = tokenList("Tokens of the text", written, given, choose);
  // Warnings that the result did not have are about the length.
  const cut = warnings.some((text) => !result.warnings.some((known) => text.endsWith(known)));
  const part = cut ? ` These are the first ${tgt.length} tokens: the model cannot read more at once.` : "";
  const hint = `The stronger the shade, the less likely the token. Click one to see its alternatives.${part}`;
  panel.body.replaceChildren(make("section", {}, make("h3", {}, "Tokens"), make("p", { class: "quiet" }, hint), list));
  explained(panel, explanation);
  focusChoice(panel);
}
