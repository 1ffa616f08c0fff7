"""Write docs/reference from the docstrings: `make docs` runs this.

One page a public module, one section a public name. Numpydoc sections become bold
headings, parameters become lists, doctests (which run with the tests) become blocks.
"""

import inspect
import re
from pathlib import Path

import sublevel as sl
from sublevel import choosing
from sublevel.evaluation import Comparison
from sublevel.models import nets

FOLDER = Path(__file__).resolve().parents[1] / "reference"

#: The pages in the order in which a datum meets what is on them.
PAGES = {
    "predictions": ("Predictions", sl.predictions),
    "losses": ("Losses", sl.losses),
    "guarantees": ("Guarantees", sl.guarantees),
    "sets": ("Sets", sl.sets),
    "loss_set": ("Estimator", [sl.LossSet, sl.SharedModel, sl.ModelBlocks]),
    "robust": ("Robust problems", sl.robust),
    "choosing": ("Choosing a shape", choosing),
    "rules": ("Rules of any kind", sl.rules),
    "evaluation": ("Evaluation", [sl.evaluate, Comparison]),
    "drift": (
        "After deployment",
        [
            sl.drift.Monitor,
            sl.drift.MonitoredPolicy,
            sl.drift.Alarm,
            sl.drift.SlidingPolicy,
            sl.drift.AdaptivePolicy,
            sl.drift.replay,
            sl.drift.Replay,
            sl.drift.Adaptive,
            sl.diagnose,
        ],
    ),
    "models": ("Models", sl.models),
    "nets": ("Networks", nets),
    "baselines": ("Baselines", sl.baselines),
    "theory": ("Theory", sl.theory),
    "plots": ("Plots", sl.plots),
    "errors": ("Errors and warnings", sl.errors),
}
#: Names that come first on their page, in this order; the others follow by alphabet.
FIRST = {
    sl.guarantees: ("Marginal", "PAC", "Mondrian", "Weighted", "CVPlus", "Certificate"),
    sl.robust: (
        "Uncertain",
        "affine_rule",
        "Reaction",
        "RobustProblem",
        "Cuts",
        "Oracle",
        "Policy",
        "PolicyStep",
        "Decision",
        "Decisions",
        "Audit",
        "Audits",
        "Evaluation",
        "CertifiedCost",
        "LargestBudget",
        "SavedPolicy",
        "load_policy",
        "Solver",
        "Clarabel",
        "ProgramData",
        "Solutions",
    ),
}
#: Bases that only their subclasses show.
PRIVATE = ("CompiledPolicy",)
SECTION = re.compile(r"^(?P<title>[A-Z][\w ]+)\n-{3,}$", re.M)


def public(module):
    """Public classes and functions of a module, those met first on the road first."""
    names = getattr(module, "__all__", None)
    if names is None:
        names = [n for n, v in vars(module).items() if v.__class__ is type]
        names = [n for n in names if getattr(module, n).__module__ == module.__name__]
    first = FIRST.get(module, ())
    ranks = {name: rank for rank, name in enumerate(first)}
    order = sorted(names, key=lambda name: (ranks.get(name, len(first)), name.lower()))
    values = [getattr(module, name) for name in order]
    return [v for v in values if inspect.isclass(v) or inspect.isfunction(v)]


def page(title, source):
    values = source if isinstance(source, list) else public(source)
    parts = [f"# {title}", "Generated from the docstrings by `make docs`."]
    if not isinstance(source, list):
        parts.append(prose(inspect.getdoc(source)))
    for value in values:
        parts += entry(value)
    return "\n\n".join(part.rstrip() for part in parts if part.strip()) + "\n"


def entry(value):
    """Heading, signature and docstring of one name; methods that say something new."""
    yield f"## {value.__name__}"
    if not (inspect.isclass(value) and issubclass(value, Exception)):
        yield f"```text\n{value.__name__}{signature(value)}\n```"
    yield body(value)
    if not inspect.isclass(value):
        return
    # A base without a page of its own is described here.
    others = [base for base in value.__mro__[1:] if base.__name__ not in PRIVATE]
    bases = [base for base in value.__mro__[1:] if base.__name__ in PRIVATE]
    methods = [item for owner in (*bases, value) for item in vars(owner).items()]
    for name, method in methods:
        described = inspect.isfunction(method) and method.__doc__
        # What a base class already promises is on the page of the base class.
        inherited = any(hasattr(base, name) for base in others)
        if described and not inherited and not name.startswith("_"):
            yield f"### {value.__name__}.{name}"
            yield f"```text\n{name}{signature(method)}\n```"
            yield body(method)


def signature(value):
    """The call without types: the docstring has them in words."""
    try:
        found = inspect.signature(value)
    except (TypeError, ValueError):
        return "(...)"
    bare = [p.replace(annotation=p.empty) for p in found.parameters.values()]
    return str(inspect.Signature([p for p in bare if p.name != "self"]))


def body(value):
    text = inspect.getdoc(value) or ""
    pieces = SECTION.split(text)
    parts = [prose(pieces[0])]
    for title, content in zip(pieces[1::2], pieces[2::2], strict=True):
        render = listing if title in LISTED else prose
        parts.append(f"**{title}**\n\n{render(content)}")
    return "\n\n".join(part.strip() for part in parts if part.strip())


LISTED = ("Parameters", "Returns", "Attributes")


def listing(content):
    """`name : type` and its indented description, as a bullet."""
    bullets = []
    for line in inspect.cleandoc(content).splitlines():
        if line and not line.startswith(" "):
            name, colon, kind = line.partition(" : ")
            bullets.append(f"- `{name}`: {kind}" if colon else f"- {line}")
        elif line.strip():
            # A type, and then a sentence: the page has them in one line.
            if bullets[-1].startswith("- ") and re.match("[A-Z][a-z]* ", line.strip()):
                bullets[-1] = bullets[-1].rstrip(".,;:") + "."
            bullets.append(f"  {line.strip()}")
    return "\n".join(bullets)


def prose(content):
    """Text as it is, doctests and indented formulas fenced."""
    blocks = re.split(r"\n{2,}", inspect.cleandoc(content or ""))
    return "\n\n".join(fenced(block) for block in blocks)


def fenced(block):
    if block.startswith(">>>"):
        return f"```pycon\n{block}\n```"
    if block.startswith("    "):
        return f"```text\n{inspect.cleandoc(block)}\n```"
    return block


def pages():
    """The text of every reference page, by file name."""
    return {f"{name}.md": page(*content) for name, content in PAGES.items()}


def main():
    FOLDER.mkdir(exist_ok=True)
    for name, text in pages().items():
        (FOLDER / name).write_text(text, encoding="utf-8")
        print(f"docs/reference/{name}")


if __name__ == "__main__":
    main()
