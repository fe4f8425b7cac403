"""The packages: each folder with an `__init__.py`, those beside `distill/` under its name; setup.cfg has the rest."""

from pathlib import Path

from setuptools import find_packages, setup
from setuptools.command.build_py import build_py

BESIDE = ("teachers", "students", "export")


def packages_of(folder: str, name: str) -> list[str]:
    """Return the names that a folder and the packages in it are installed by."""
    return [name, *(f"{name}.{inner}" for inner in find_packages(folder))]


class BuildWithScripts(build_py):
    """Copies the script of bundles into each encoder that ships, where the checkout has it once."""

    def run(self) -> None:
        """Build the packages."""
        super().run()
        if not self.editable_mode:
            for folder in Path("distill").glob("released*"):
                self.copy_file("export/encode.py", str(Path(self.build_lib) / folder / "encode.py"))


if __name__ == "__main__":
    names = packages_of("distill", "distill")
    setup(
        cmdclass={"build_py": BuildWithScripts},
        packages=[*names, *(one for folder in BESIDE for one in packages_of(folder, f"distill.{folder}"))],
    )
