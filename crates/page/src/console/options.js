// The options of the tasks.

// Name of the setting, label, attributes of its field, and the limit of the server that is its maximum.
const OPTIONS = {
  translate: [
    ["beam", "Beam width", { type: "number", min: 1 }, "beam_width"],
    ["best", "Translations", { type: "number", min: 1 }, "n_best"],
  ],
  generate: [
    ["temperature", "Temperature", { type: "range", min: 0, max: 2, step: 0.05 }],
    ["top_p", "Top-p", { type: "range", min: 0.05, max: 1, step: 0.05 }],
    ["most", "Maximum new tokens", { type: "number", min: 1 }, "max_new_tokens"],
    ["seed", "Seed", { type: "number", min: 0, max: Number.MAX_SAFE_INTEGER }],
  ],
};

// The fields of the options for `models`; `changed` is called when one changes.
function optionFields(models, changed) {
  const own = Object.keys(OPTIONS).filter((task) => models.some((model) => model.task === task));
  const fields = own.flatMap((task) => OPTIONS[task]).map((option) => optionField(option, changed));
  // A blank field means the value of the model's configuration.
  const widths = [...new Set(models.map(({ beam_width }) => beam_width))];
  for (const field of fields.flatMap((label) => [...label.querySelectorAll("[name=beam]")])) {
    field.placeholder = widths.join(" and ");
  }
  return fields;
}

function optionField([name, label, attributes, limit], changed) {
  const most = limit && limits[limit] ? { max: limits[limit] } : {};
  const field = make("input", { name, value: settings[name], ...attributes, ...most });
  // The value of a range is not visible by itself.
  const shown = attributes.type === "range" ? [make("output", {}, settings[name])] : [];
  field.value = settings[name];
  field.oninput = () => {
    shown[0]?.replaceChildren(field.value);
    if (field.checkValidity()) {
      set(name, field.value);
      changed();
    }
  };
  return make("label", {}, `${label} `, field, ...shown);
}

// The settings `names` that are filled in, as numbers.
function numbers(names) {
  const given = Object.entries(names).filter(([, name]) => settings[name] !== "");
  return Object.fromEntries(given.map(([key, name]) => [key, Number(settings[name])]));
}

// The search options for the translations of the whole text.
const beamOption = () => numbers({ beam_width: "beam" });

// The search options for the best translations of a sentence: the beam is at least as wide as the number of translations.
const translateOptions = (model) => {
  const { beam_width = model.beam_width, n_best = 1 } = numbers({ beam_width: "beam", n_best: "best" });
  return { beam_width: Math.max(beam_width, n_best), n_best };
};

const generateOptions = () => numbers({ temperature: "temperature", top_p: "top_p", max_new_tokens: "most", seed: "seed" });
