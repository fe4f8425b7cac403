"""The packages: each folder with an `__init__.py`, those beside `distill/` under its name; setup.cfg has the rest."""

from setuptools import find_packages, setup

BESIDE = ("teachers", "students", "export")


def packages_of(folder: str, name: str) -> list[str]:
    """Return the names that a folder and the packages in it are installed by."""
    return [name, *(f"{name}.{inner}" for inner in find_packages(folder))]


if __name__ == "__main__":
    names = packages_of("distill", "distill")
    setup(packages=[*names, *(one for folder in BESIDE for one in packages_of(folder, f"distill.{folder}"))])
