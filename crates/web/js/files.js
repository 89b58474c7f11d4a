// Files in memory, and the other functions of WASI (preview 1) that the module imports: it reads files, the clock and
// random numbers, and writes messages.

const [SUCCESS, BADF, INVAL, NOENT, NOSYS, NOTDIR, ROFS] = [0, 8, 28, 44, 52, 54, 69];
const [DIRECTORY, REGULAR_FILE, CHARACTER_DEVICE] = [3, 4, 2];
const ROOT = 3; // The descriptor of the only folder that is open from the start.
const [CREATE, FOLDER, TRUNCATE] = [1, 2, 8];
const RIGHTS = 0xffffffffffffffffn; // All of them.

export class Files {
  // `files` is a map from paths such as "models/en-it/config.toml" to bytes; `tell` receives messages of the module.
  constructor(files, tell) {
    this.files = files;
    this.tell = tell;
    this.open = new Map([[ROOT, { path: "" }]]);
    this.next = ROOT + 1;
    this.memory = null; // That of the module, once there is one.
    this.message = "";
    this.decoder = new TextDecoder();
  }

  // Forgets the files, of which the module has its own copies.
  clear() {
    this.files.clear();
    this.open = new Map([[ROOT, { path: "" }]]);
  }

  get view() {
    return new DataView(this.memory.buffer);
  }

  bytes(at, length) {
    return new Uint8Array(this.memory.buffer, at >>> 0, length);
  }

  text(at, length) {
    return new TextDecoder().decode(this.bytes(at, length).slice());
  }

  // The full path of `path` in an open folder, without empty parts and dots.
  resolve(folder, path) {
    const parts = [];
    for (const part of `${this.open.get(folder)?.path ?? ""}/${path}`.split("/")) {
      if (part === "..") {
        parts.pop();
      } else if (part !== "" && part !== ".") {
        parts.push(part);
      }
    }
    return parts.join("/");
  }

  // The names in a folder, without those further below.
  list(path) {
    const prefix = path === "" ? "" : `${path}/`;
    const below = [...this.files.keys()].filter((name) => name.startsWith(prefix));
    return [...new Set(below.map((name) => name.slice(prefix.length).split("/")[0]))];
  }

  // What is at `path`: its type and its size; undefined for nothing.
  find(path) {
    const content = this.files.get(path);
    if (content) {
      return { type: REGULAR_FILE, size: content.length };
    }
    return path === "" || this.list(path).length ? { type: DIRECTORY, size: 0 } : undefined;
  }

  writeStat(at, path, { type, size }) {
    const stat = this.bytes(at, 64).fill(0);
    const view = new DataView(stat.buffer, stat.byteOffset, stat.length);
    view.setBigUint64(8, BigInt(1 + [...this.files.keys()].indexOf(path)), true);
    view.setUint8(16, type);
    view.setBigUint64(24, 1n, true);
    view.setBigUint64(32, BigInt(size), true);
  }

  // The functions, by name.
  imports() {
    const size = (at, value) => this.view.setUint32(at >>> 0, value, true);
    const long = (at, value) => this.view.setBigUint64(at >>> 0, BigInt(value), true);
    // The addresses and lengths of parts of memory.
    const parts = (first, count) =>
      Array.from({ length: count }, (_, part) => [0, 4].map((offset) => this.view.getUint32((first >>> 0) + 8 * part + offset, true)));
    return {
      random_get: (at, length) => {
        for (let start = 0; start < length; start += 65536) {
          crypto.getRandomValues(this.bytes(at + start, Math.min(65536, length - start)));
        }
        return SUCCESS;
      },
      environ_sizes_get: (count, bytes) => {
        size(count, 0);
        size(bytes, 0);
        return SUCCESS;
      },
      environ_get: () => SUCCESS,
      clock_time_get: (clock, _, at) => {
        const milliseconds = clock === 0 ? Date.now() : performance.now();
        long(at, Math.round(milliseconds * 1e6));
        return SUCCESS;
      },
      fd_prestat_get: (file, at) => {
        if (file !== ROOT) {
          return BADF;
        }
        size(at, 0);
        size(at + 4, 1);
        return SUCCESS;
      },
      fd_prestat_dir_name: (_, at) => {
        this.bytes(at, 1)[0] = "/".charCodeAt(0);
        return SUCCESS;
      },
      fd_fdstat_get: (file, at) => {
        const open = this.open.get(file);
        const found = open ? this.find(open.path) : file < ROOT && { type: CHARACTER_DEVICE };
        if (!found) {
          return BADF;
        }
        this.bytes(at, 24).fill(0);
        this.bytes(at, 1)[0] = found.type;
        long(at + 8, RIGHTS);
        long(at + 16, RIGHTS);
        return SUCCESS;
      },
      path_open: (folder, _, path, length, how, _rights, _inherited, _flags, out) => {
        if (how & (CREATE | TRUNCATE)) {
          return ROFS;
        }
        if (!this.open.has(folder)) {
          return BADF;
        }
        const name = this.resolve(folder, this.text(path, length));
        const found = this.find(name);
        if (!found) {
          return NOENT;
        }
        if (how & FOLDER && found.type !== DIRECTORY) {
          return NOTDIR;
        }
        this.open.set(this.next, { path: name, at: 0 });
        size(out, this.next);
        this.next += 1;
        return SUCCESS;
      },
      path_filestat_get: (folder, _, path, length, at) => {
        const name = this.resolve(folder, this.text(path, length));
        const found = this.find(name);
        if (!found) {
          return NOENT;
        }
        this.writeStat(at, name, found);
        return SUCCESS;
      },
      path_readlink: () => INVAL, // There are no links.
      fd_filestat_get: (file, at) => {
        const open = this.open.get(file);
        if (!open) {
          return BADF;
        }
        this.writeStat(at, open.path, this.find(open.path));
        return SUCCESS;
      },
      fd_read: (file, first, count, out) => {
        const open = this.open.get(file);
        const content = open && this.files.get(open.path);
        if (!content) {
          return BADF;
        }
        let read = 0;
        for (const [at, length] of parts(first, count)) {
          const piece = content.subarray(open.at, open.at + length);
          this.bytes(at, piece.length).set(piece);
          open.at += piece.length;
          read += piece.length;
        }
        size(out, read);
        return SUCCESS;
      },
      fd_seek: (file, offset, from, out) => {
        const open = this.open.get(file);
        const content = open && this.files.get(open.path);
        if (!content) {
          return BADF;
        }
        const place = [0, open.at, content.length][from] + Number(offset);
        if (!(place >= 0)) {
          return INVAL;
        }
        open.at = place;
        long(out, place);
        return SUCCESS;
      },
      fd_readdir: (file, at, length, first, out) => {
        const open = this.open.get(file);
        if (!open) {
          return BADF;
        }
        const all = this.list(open.path).slice(Number(first)).map((name, index) => {
          const bytes = new TextEncoder().encode(name);
          const entry = new Uint8Array(24 + bytes.length);
          const view = new DataView(entry.buffer);
          view.setBigUint64(0, first + BigInt(index + 1), true);
          view.setUint32(16, bytes.length, true);
          view.setUint8(20, this.find(this.resolve(file, name)).type);
          entry.set(bytes, 24);
          return [...entry];
        }).flat().slice(0, length);
        this.bytes(at, all.length).set(all);
        size(out, all.length);
        return SUCCESS;
      },
      fd_write: (file, first, count, out) => {
        if (file !== 1 && file !== 2) {
          return BADF;
        }
        let written = 0;
        for (const [at, length] of parts(first, count)) {
          this.message += this.decoder.decode(this.bytes(at, length).slice(), { stream: true });
          written += length;
        }
        const lines = this.message.split("\n");
        this.message = lines.pop();
        lines.forEach((line) => this.tell(line));
        size(out, written);
        return SUCCESS;
      },
      fd_close: (file) => {
        this.open.delete(file);
        return SUCCESS;
      },
      poll_oneoff: () => NOSYS,
      sched_yield: () => SUCCESS,
      proc_exit: (code) => {
        throw new Error(`the module ended with code ${code}`);
      },
    };
  }
}
