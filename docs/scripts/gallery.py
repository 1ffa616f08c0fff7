"""Run the scripts of docs/gallery and write their pages: `make docs` runs this.

A script is a page. Its docstring is the title and what comes first. Comments that
begin at `# %%` are prose; code up to the next such comment is shown, run, and followed
by what it printed and by the figures it left open. Pictures lie beside the page.

    python docs/scripts/gallery.py                    # all of them
    python docs/scripts/gallery.py generation_plan    # one
"""

import ast
import contextlib
import io
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt

FOLDER = Path(__file__).resolve().parents[1] / "gallery"
#: The longest that a script may take, in seconds of processor time.
LONGEST = 120
STYLE = {
    "figure.dpi": 144,
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "figure.constrained_layout.use": True,
}


@dataclass(frozen=True)
class Cell:
    """Prose in Markdown, the code after it, and the line where the code begins."""

    prose: str
    code: str
    line: int


def scripts():
    """Every script of the gallery, by name."""
    return {path.stem: path for path in sorted(FOLDER.glob("*.py"))}


def cells(path):
    """A script as cells: the docstring first, then prose and code by turns."""
    text = path.read_text(encoding="utf-8")
    docstring = ast.parse(text).body[0]
    if not (isinstance(docstring, ast.Expr) and ast.get_docstring(ast.parse(text))):
        raise SystemExit(
            f"{path.name} must begin with a docstring: title and question."
        )
    lines = text.splitlines()
    prose, code, start = ast.get_docstring(ast.parse(text)).splitlines(), [], 0
    parts, in_prose = [], False
    for number, line in enumerate(lines[docstring.end_lineno :], docstring.end_lineno):
        if line.startswith("# %%"):
            parts.append(Cell(tidy(prose), tidy(code), start))
            prose, code, in_prose = [line.removeprefix("# %%").strip()], [], True
        elif in_prose and line.startswith("#"):
            prose.append(line.removeprefix("#").removeprefix(" "))
        else:
            start = start if any(code) else number
            code.append(line)
            in_prose = False
    return [*parts, Cell(tidy(prose), tidy(code), start)]


def tidy(lines):
    return "\n".join(lines).strip("\n")


def source(path):
    """The page without what only a run can tell: prose and code, one after another."""
    return [part for cell in cells(path) for part in (cell.prose, cell.code) if part]


def write(path):
    """Run a script; write its page and pictures beside it."""
    namespace, pictures, blocks = {"__name__": "__main__"}, [], []
    for cell in cells(path):
        blocks += [cell.prose] if cell.prose else []
        if not cell.code:
            continue
        printed = io.StringIO()
        # Leading newlines make a traceback point at the line of the script.
        code = compile("\n" * cell.line + cell.code, str(path), "exec")
        with contextlib.redirect_stdout(printed), mpl.rc_context(STYLE):
            exec(code, namespace)
        blocks.append(f"```python\n{cell.code}\n```")
        if printed.getvalue().strip():
            blocks.append(f"```text\n{printed.getvalue().rstrip()}\n```")
        for number in plt.get_fignums():
            name = f"{path.stem}-{len(pictures) + 1}.png"
            pictures.append(name)
            figure = plt.figure(number)
            title = figure.get_label() or cell.prose.splitlines()[0].lstrip("# ")
            figure.savefig(FOLDER / name, metadata={"Software": None})
            blocks.append(f"![{title}]({name})")
        plt.close("all")
    for picture in FOLDER.glob(f"{path.stem}-*.png"):
        if picture.name not in pictures:  # of an earlier version of the script
            picture.unlink()
    written = f"*Written by `docs/gallery/{path.name}`, which `make docs` runs.*"
    (FOLDER / f"{path.stem}.md").write_text(
        "\n\n".join([*blocks, written]) + "\n", encoding="utf-8"
    )


def main(names):
    every = scripts()
    for name in names or every:
        start = time.process_time()
        write(every[name])
        seconds = time.process_time() - start
        print(f"docs/gallery/{name}.md in {seconds:.0f} s")
        if seconds > LONGEST:
            raise SystemExit(f"{name} took more than {LONGEST} s: make it smaller.")


if __name__ == "__main__":
    main(sys.argv[1:])
