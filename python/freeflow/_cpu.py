"""The compiled part needs a CPU of the last ten years; without this it would end in an illegal instruction."""


def require_cpu():
    try:
        with open("/proc/cpuinfo", encoding="ascii", errors="replace") as file:
            head = file.read(8192)
    except OSError:
        return
    if "\nflags" in head and " avx2" not in head:
        raise ImportError("freeflow needs a CPU with AVX2 (x86-64-v3), which this one has not; build it with -DFREEFLOW_NATIVE=ON")
