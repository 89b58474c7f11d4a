"""The OCI image: the program alone, run by an unprivileged user. Made by `umoci`, without a daemon."""

import subprocess
import tarfile
import tempfile
from pathlib import Path

from deb import put


def build(program, output):
    with tempfile.TemporaryDirectory() as folder:
        layout, files = Path(folder) / "layout", Path(folder) / "files"
        put(files / "usr/bin/attentive", program.binary.read_bytes(), 0o755)
        for name, content in program.papers():
            put(files / "usr/share/doc/attentive" / name, content, 0o644)
        tag = f"{layout}:{program.version}"
        run("init", "--layout", layout)
        run("new", "--image", tag)
        for part in sorted(files.iterdir()):
            run("insert", "--rootless", "--image", tag, part, f"/{part.name}")
        run(
            *("config", "--image", tag, "--config.user", "65532:65532"),
            *("--config.entrypoint", "/usr/bin/attentive", "--config.cmd", "--help"),
            *("--config.exposedports", "8080/tcp", "--architecture", program.target.debian, "--os", "linux"),
            *("--config.label", f"org.opencontainers.image.version={program.version}"),
            *("--config.label", "org.opencontainers.image.title=attentive"),
            *("--config.label", "org.opencontainers.image.licenses=MIT OR Apache-2.0"),
        )
        run("gc", "--layout", layout)
        file = output / f"attentive-{program.version}-{program.target.debian}.oci.tar"
        with tarfile.open(file, "w", format=tarfile.PAX_FORMAT) as archive:
            archive.add(layout, arcname=".", filter=lambda entry: owned(entry, program.epoch))
    return file


def owned(entry, epoch):
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = "root"
    entry.mtime = epoch
    return entry


def run(*arguments):
    subprocess.run(["umoci", *map(str, arguments)], check=True)
