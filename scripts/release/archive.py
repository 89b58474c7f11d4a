"""The archive: unpack it anywhere. `cargo binstall` finds it by `package.metadata.binstall` in Cargo.toml."""

import gzip
import io
import tarfile
import zipfile
from datetime import datetime, timezone


def build(program, output):
    name = f"attentive-{program.version}-{program.target.static}"
    return (build_zip if program.target.is_windows else build_tar)(program, output, name)


def build_tar(program, output, name):
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


def build_zip(program, output, name):
    file = output / f"{name}.zip"
    date = datetime.fromtimestamp(program.epoch, timezone.utc).timetuple()[:6]
    contents = {"bin/attentive.exe": program.binary.read_bytes()}
    contents |= {f"share/{path}": content for path, content in [*program.papers(), *program.engine()]}
    with zipfile.ZipFile(file, "w") as archive:
        for path, content in contents.items():
            entry = zipfile.ZipInfo(f"{name}/{path}", date)
            entry.external_attr = (0o755 if path.endswith(".exe") else 0o644) << 16
            archive.writestr(entry, content, zipfile.ZIP_DEFLATED)
    return file
