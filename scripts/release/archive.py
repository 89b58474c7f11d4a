"""The archive: unpack it anywhere. `cargo binstall` finds it by `package.metadata.binstall` in Cargo.toml."""

import gzip
import io
import tarfile


def build(program, output):
    name = f"attentive-{program.version}-{program.target}"
    file = output / f"{name}.tar.gz"
    with open(file, "wb") as raw, gzip.GzipFile("", "wb", mtime=0, fileobj=raw) as packed:
        with tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive:
            add(archive, f"{name}/bin/attentive", program.binary.read_bytes(), 0o755, program.epoch)
            for path, content in program.documents():
                path = path.replace("vendor-completions", "site-functions")  # where zsh looks below /usr/local
                add(archive, f"{name}/share/{path}", content, 0o644, program.epoch)
    return file


def add(archive, path, content, mode, epoch):
    """Adds a file of root's to a tar archive."""
    entry = tarfile.TarInfo(path)
    entry.size, entry.mode, entry.mtime = len(content), mode, epoch
    entry.uname = entry.gname = "root"
    archive.addfile(entry, io.BytesIO(content))
