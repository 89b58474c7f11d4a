/** A folder that `attentive export --to web` wrote. */
export interface Manifest {
  format: number;
  program: string;
  models: {
    name: string;
    dir: string;
    task: string;
    source?: string;
    target?: string;
    license?: string;
    files: { path: string; bytes: number; sha256: string }[];
  }[];
}

/** A model, as `GET /api/models` describes it. */
export interface Model {
  name: string;
  task: "translate" | "generate" | "fill" | "tag" | "classify" | "embed";
  source: string | null;
  target: string | null;
  parameters: number;
  max_len: number;
  beam_width?: number;
  embeds: boolean;
  precision?: "f32" | "bf16" | "int8";
}

/** A translated sentence. */
export interface Sentence {
  source: string;
  translation: string;
  /** The geometric mean of the probabilities of the tokens of the translation. */
  probability: number;
  /** The translation with what precedes it; the texts of all sentences together are the whole translation. */
  text: string;
}

/** The fields of `POST /api/translate`, but for the text. */
export interface TranslateOptions {
  signal?: AbortSignal;
  model?: string;
  beam_width?: number;
  [field: string]: unknown;
}

export interface LoadOptions {
  /** The name of the only model to load; all of the folder by default. */
  name?: string;
  /** Called with the loaded and the total number of bytes of the models. */
  progress?: (loaded: number, total: number) => void;
  signal?: AbortSignal;
}

/** Models on a thread of their own. */
export interface Models {
  readonly manifest: Manifest;
  readonly models: Model[];
  /** The bytes of RAM of the module when it had started. */
  readonly ram: number;
  /** Translates sentence by sentence. */
  translate(text: string, options?: TranslateOptions): AsyncGenerator<Sentence>;
  /** The whole translation of a text. */
  translateText(text: string, options?: TranslateOptions): Promise<string>;
  /** The translation of a file, whose name tells its format: `page.html`, `subtitles.srt`, `messages.po` and others. */
  translateFile(
    name: string,
    text: string,
    options?: { signal?: AbortSignal; model?: string; terms?: Record<string, string> },
  ): Promise<{ model: string; name: string; text: string; warnings: string[] }>;
  /** Asks the models as `fetch` would ask a server of `attentive serve`. */
  fetch(
    path: string,
    options?: { method?: string; headers?: Record<string, string>; body?: string | Uint8Array; signal?: AbortSignal },
  ): Promise<Response>;
  /** Ends the thread, and whatever it does. */
  close(): void;
}

/** Loads the models of a folder that `attentive export --to web` wrote. */
export function load(url: string | URL, options?: LoadOptions): Promise<Models>;
