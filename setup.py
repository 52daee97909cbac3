"""Put docs, proofs and changelog into the wheel; everything else is in pyproject.toml."""

from pathlib import Path
from shutil import copyfile

from setuptools import setup
from setuptools.command.build_py import build_py

ROOT = Path(__file__).parent


def pages() -> dict[str, Path]:
    """Return the pages by their path inside the package; an installed mechanism names its proof by it."""
    found = {str(path.relative_to(ROOT)): path for path in sorted((ROOT / "docs").rglob("*.md"))}
    return found | {"docs/CHANGELOG.md": ROOT / "CHANGELOG.md"}


class BuildWithPages(build_py):
    """Copy the pages beside the modules. An editable install reads them in the checkout instead."""

    def run(self) -> None:
        """Build the package, then add the pages."""
        super().run()
        if not self.editable_mode:
            for target, page in self.targets().items():
                self.mkpath(str(target.parent))
                copyfile(page, target)

    def targets(self) -> dict[Path, Path]:
        """Return where each page goes."""
        return {Path(self.build_lib, "hushcount", name): page for name, page in pages().items()}

    def get_outputs(self, include_bytecode: bool = True) -> list[str]:
        """List the pages among the files of the wheel."""
        added = [] if self.editable_mode else [str(path) for path in self.targets()]
        return super().get_outputs(include_bytecode) + added


setup(cmdclass={"build_py": BuildWithPages})
