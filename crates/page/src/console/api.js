// Requests to the models.

const KEY = "attentive-key"; // In the session's storage.

// A failure that the server describes: `code` identifies it for programs, `after` is the number of seconds to wait before
// trying again.
class Refused extends Error {
  constructor(status, code, message, after) {
    super(message);
    Object.assign(this, { status, code, after });
  }
}

async function send(path, body, signal) {
  const headers = { "Content-Type": "application/json" };
  const key = sessionStorage.getItem(KEY);
  if (key) {
    headers.Authorization = `Bearer ${key}`;
  }
  const options = body === undefined ? { headers } : { method: "POST", headers, body: JSON.stringify(body) };
  const response = await transport(path, { ...options, signal });
  if (!response.ok) {
    throw await refused(response);
  }
  return response;
}

async function refused(response) {
  const { status } = response;
  const text = await response.text();
  let [code, message] = ["", text];
  try {
    const { error } = JSON.parse(text);
    code = error.code ?? "";
    message = described(error);
  } catch {
    // Not JSON: the text itself.
  }
  if (status === 401 || status === 403) {
    askForKey(status === 403 ? message : "");
  }
  const after = Number(response.headers.get("Retry-After")) || 0;
  const later = after ? ` Try again in ${after} s.` : "";
  return new Refused(status, code, `${message || `The server answered with status ${status}.`}${later}`, after);
}

const described = (error) => (error.hint ? `${error.message}. Hint: ${error.hint}` : (error.message ?? error));

// True if the form for the key already shows an error.
const isAboutKey = (error) => error.status === 401 || error.status === 403;

async function ask(path, body, signal) {
  return (await send(path, body, signal)).json();
}

// The server-sent events of an answer, each as [name, data].
async function* events(path, body, signal) {
  const response = await send(path, { ...body, stream: true }, signal);
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await piece(reader);
    if (done) {
      return;
    }
    const parts = (rest + value).replace(/\r\n?/g, "\n").split("\n\n");
    rest = parts.pop();
    for (const part of parts) {
      signal.throwIfAborted(); // What came before the end is not wanted any more.
      const one = event(part);
      if (one) {
        yield one;
      }
    }
  }
}

async function piece(reader) {
  try {
    return await reader.read();
  } catch (error) {
    throw error.name === "AbortError" ? error : brokenOff(error);
  }
}

// An event, `null` for a comment; events that report an error are thrown.
function event(lines) {
  let name = "message";
  const data = [];
  for (const line of lines.split("\n")) {
    const [, field, value] = line.match(/^(\w*):? ?(.*)$/s) ?? [];
    if (field === "event") {
      name = value;
    } else if (field === "data") {
      data.push(value);
    }
  }
  if (!data.length) {
    return null;
  }
  const value = JSON.parse(data.join("\n"));
  if (name === "error") {
    const { error } = value;
    throw new Refused(0, error.code ?? "", described(error), 0);
  }
  return [name, value];
}
