"""The inner loops of the kernels as llvm-mca sees them: python3 scripts/loops.py PROGRAM [-v]

PROGRAM is anything with the kernels for x86-64 or ARM64, such as the test binary that
`cargo test --release -p attentive-kernels --lib --no-run [--target aarch64-unknown-linux-gnu]` names. Needs
objdump of that processor, and llvm-mca 19 or later (LLVM_MCA names it).

For each kernel, the loop with most multiplications is shown, of those with as many the shortest: its instructions and loads for each of them, and
for each core the share of the cycles that the multiplications alone would take. The loads hit the first cache,
and branches are predicted. What LLVM knows of a core may differ from the core. `-v` shows the loops, too.
"""

import os
import re
import subprocess
import sys
from collections import namedtuple

# What multiplies: a pattern of instructions, one instruction with `{}` for an accumulator, and where it is looked for.
Kernel = namedtuple("Kernel", "name place pattern ceiling")

ARM = [
    Kernel("f32", "micro", r"fmla", "fmla v{}.4s, v30.4s, v31.4s"),
    Kernel("attention, f32", "query_group", r"fmla", "fmla v{}.4s, v30.4s, v31.4s"),
    Kernel("int8, Neon", "int8", r"sml[al]*2?\b|smull2?\b", "smlal v{}.8h, v30.8b, v31.8b"),
    Kernel("int8, DotProd", "int8", r"sdot", "sdot v{}.4s, v30.16b, v31.16b"),
    Kernel("int8, I8MM", "int8", r"smmla", "smmla v{}.4s, v30.16b, v31.16b"),
    Kernel("bf16, one row", "pairs", r"bfdot", "bfdot v{}.4s, v30.8h, v31.8h"),
    Kernel("bf16", "pairs", r"bfmmla", "bfmmla v{}.4s, v30.8h, v31.8h"),
]
X86 = [
    Kernel("f32, AVX2", "micro", r"vfmadd231ps.*%ymm", "vfmadd231ps %ymm14, %ymm15, %ymm{}"),
    Kernel("f32, AVX-512", "micro", r"vfmadd231ps.*%zmm", "vfmadd231ps %zmm30, %zmm31, %zmm{}"),
    Kernel("attention, f32, AVX-512", "query_group", r"vfmadd...ps.*%zmm", "vfmadd231ps %zmm30, %zmm31, %zmm{}"),
    Kernel("int8, AVX2", "int8", r"vpmaddubsw.*%ymm", "vpmaddubsw %ymm14, %ymm15, %ymm{}"),
    Kernel("int8, VNNI", "int8", r"vpdpbusd.*%zmm", "vpdpbusd %zmm30, %zmm31, %zmm{}"),
    Kernel("bf16", "pairs", r"vdpbf16ps", "vdpbf16ps %zmm30, %zmm31, %zmm{}"),
]
CORES = {
    "aarch64": ["neoverse-n1", "neoverse-n2", "neoverse-v1", "neoverse-v2", "apple-m1"],
    "x86-64": ["haswell", "icelake-server", "sapphirerapids", "znver3", "znver4"],
}
# Cores without AVX-512.
NARROW = ["haswell", "znver3"]
ACCUMULATORS = {"aarch64": 24, "x86-64": 12}
ROUNDS = 200


def functions(objdump, program):
    """Name and instructions (address, text) of each function."""
    command = [objdump, "-d", "--no-show-raw-insn", "-C", program]
    name, body = None, []
    for line in subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines():
        if head := re.match(r"^[0-9a-f]+ <(.*)>:$", line):
            if name:
                yield name, body
            name, body = head[1], []
        elif instruction := re.match(r"^\s*([0-9a-f]+):\s+(.*)$", line):
            text = re.split(r"//|\s#\s", instruction[2])[0]
            body.append((int(instruction[1], 16), text.strip()))
    yield name, body


def loops(body):
    """The instructions of each innermost loop, without the jump at its end."""
    index = {address: i for i, (address, _) in enumerate(body)}
    spans = []
    for i, (address, text) in enumerate(body):
        jump = re.match(r"(?:b\.\w+|cbn?z|tbn?z|b|j\w+)\s+(?:.*\s)?([0-9a-f]+) <", text)
        if jump and int(jump[1], 16) <= address and int(jump[1], 16) in index:
            spans.append((index[int(jump[1], 16)], i))
    for start, end in spans:
        if not any((s, e) != (start, end) and start <= s and e <= end for s, e in spans):
            yield [text for _, text in body[start:end] if "<" not in text]


def cycles(processor, core, loop):
    """Cycles a round; None if LLVM's description of the core lacks an instruction."""
    text = "\n".join(line for line in loop if not line.startswith("prf"))
    command = [os.environ.get("LLVM_MCA", "llvm-mca-19"), f"-march={processor}", f"-mcpu={core}", f"-iterations={ROUNDS}"]
    found = subprocess.run(command, input=text, capture_output=True, text=True)
    total = re.search(r"Total Cycles:\s+(\d+)", found.stdout)
    return int(total[1]) / ROUNDS if total and found.returncode == 0 else None


def share(processor, core, kernel, count, loop):
    if "zmm" in kernel.ceiling and core in NARROW or "bf16" in kernel.ceiling and core == "icelake-server":
        return ""
    alone = cycles(processor, core, [kernel.ceiling.format(i) for i in range(ACCUMULATORS[processor])])
    whole = cycles(processor, core, loop)
    if alone is None or whole is None:
        return ""
    return f"{count * alone / ACCUMULATORS[processor] / whole:.0%}"


def main(program):
    kind = subprocess.run(["file", "-L", program], capture_output=True, text=True, check=True).stdout
    processor, kernels, objdump = (
        ("aarch64", ARM, "aarch64-linux-gnu-objdump") if "aarch64" in kind else ("x86-64", X86, "objdump")
    )
    best = {}
    for name, body in functions(objdump, program):
        for kernel in kernels:
            if f"::{kernel.place}::" not in name:
                continue
            for loop in loops(body):
                count = sum(bool(re.match(kernel.pattern, line)) for line in loop)
                size = (count, -len(loop))
                if count and size > best.get(kernel, (size[:0], []))[0]:
                    best[kernel] = (size, loop)
    cores = CORES[processor]
    print("| kernel | multiplications | instructions each | loads each | " + " | ".join(cores) + " |")
    print("|---|---|---|---|" + "---|" * len(cores))
    for kernel in kernels:
        if kernel not in best:
            continue
        (count, _), loop = best[kernel]
        loads = sum(bool(re.match(r"ld", line)) or bool(re.match(r"v[^,]*\(%", line)) for line in loop)
        shares = " | ".join(share(processor, core, kernel, count, loop) for core in cores)
        print(f"| {kernel.name} | {count} | {len(loop) / count:.2f} | {loads / count:.2f} | {shares} |")
        if "-v" in sys.argv:
            print("\n".join(loop), file=sys.stderr)


if len(sys.argv) < 2:
    sys.exit(__doc__)
main(sys.argv[1])
