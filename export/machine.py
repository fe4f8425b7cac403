"""What figures were measured on."""

import platform


def machine():
    """The processor's name and the operating system, for the line under a table."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            names = [line.split(":", 1)[1].strip() for line in file if line.startswith("model name")]
        processor = f"{names[0]}, {len(names)} cores"
    except (OSError, IndexError):
        processor = platform.processor() or platform.machine()
    return f"{processor}, {platform.system()}"
