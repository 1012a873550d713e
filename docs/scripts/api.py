"""docs/api.md from the sources: what a person may call from Python, with signatures and docstrings as they are.

python docs/scripts/api.py docs/api.md

The sources are parsed, not imported, so that this takes no torch and no second.
"""

import argparse
import ast
import inspect
import re
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src"
HEAD = """# API, with shapes

Written by `python docs/scripts/api.py docs/api.md` from the sources; a test compares. Shapes stand in names:
`image_ND` has N rows of width D, `logits_NN` a row an image and a column a caption, `own` is a slice of the rows (the
whole legend is in [Architecture](architecture.md#shapes-in-names)). Embeddings are unit rows. `BoostedClipLoss` and
`Cell` may be imported from `hnclip` itself. What is not listed here may change without notice.
"""
# What is shown, by heading: "module: NAME NAME", where a class shows its public methods that have a docstring.
PAGES = {
    "Losses for a loop of your own": [
        "hnclip.losses.boosted_clip: BoostedClipLoss",
        "hnclip.integrations.sentence_transformers: BoostedMultipleNegativesRankingLoss",
        "hnclip.losses.contrastive: info_nce",
        "hnclip.losses.entry: LossEntry",
        "hnclip.losses.objective: contrastive Contrastive Tables",
        "hnclip.losses.boosts: captions matched constant centred shuffled frozen images mean_cosine",
        "hnclip.losses.reweighted: reweighted",
        "hnclip.losses.hardest: hardest",
        "hnclip.losses.sigmoid: sigmoid",
        "hnclip.losses.soft_targets: soft_targets",
        "hnclip.losses.token: late_interaction token_term",
    ],
    "Models": ["hnclip.encoder: Encoder", "hnclip.models.backbone: Backbone"],
    "Frameworks": ["hnclip.frameworks.base: Framework Step"],
    "Ranks": ["hnclip.rank_counts: both_ranks", "hnclip.ranks: ranks_by_scores"],
    "Studies": ["hnclip.cell: Cell grid resolve"],
}


def signature(name: str, node: ast.FunctionDef, owner: bool = False) -> str:
    """`name(arguments) -> result` as the source has it, on a line an argument where it is long."""
    arguments = ast.parse(f"def f({ast.unparse(node.args)}): pass").body[0].args
    if owner and arguments.args and arguments.args[0].arg in ("self", "cls"):
        arguments.args.pop(0)
    result = f" -> {ast.unparse(node.returns)}" if node.returns and name[0].islower() else ""
    line = f"{name}({ast.unparse(arguments)}){result}"
    if len(line) <= 110:
        return line
    inner = ast.unparse(arguments)
    parts = re.split(r", (?![^\[(]*[\])])", inner)
    return f"{name}(\n" + "".join(f"    {part},\n" for part in parts) + f"){result}"


def constructor(node: ast.ClassDef) -> str:
    """How an object of the class is made: its `__init__`, or the fields of a dataclass."""
    for item in node.body:
        if isinstance(item, ast.FunctionDef) and item.name == "__init__":
            return signature(node.name, item, owner=True)
    fields = [item for item in node.body if isinstance(item, ast.AnnAssign) and "ClassVar" not in ast.unparse(item)]
    if not fields or not any("dataclass" in ast.unparse(mark) for mark in node.decorator_list):
        return node.name
    return f"{node.name}(\n" + "".join(f"    {ast.unparse(field)},\n" for field in fields) + ")"


def shown(node: ast.FunctionDef) -> bool:
    public = not node.name.startswith("_") or node.name == "__call__"
    return public and bool(ast.get_docstring(node))


def doc(node: ast.AST) -> str:
    """A docstring as Markdown; what would be read as HTML is escaped."""
    text = inspect.cleandoc(ast.get_docstring(node) or "")
    return re.sub(r"<(?=\w)", "&lt;", text)


def method(node: ast.FunctionDef) -> str:
    names = [ast.unparse(mark) for mark in node.decorator_list]
    is_value = any(name in ("property", "cached_property") for name in names)
    result = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    head = f"{node.name}{result}" if is_value else signature(node.name, node, owner=True)
    text = doc(node).replace("\n", "\n    ")
    return f"* `{' '.join(head.split())}`: {text}"


def entry(module: str, node: ast.FunctionDef | ast.ClassDef) -> str:
    """The section of one name."""
    is_class = isinstance(node, ast.ClassDef)
    head = constructor(node) if is_class else signature(node.name, node)
    parts = [f"### {node.name}", f"```python\nfrom {module} import {node.name}\n\n{head}\n```", doc(node)]
    if is_class:
        methods = [method(item) for item in node.body if isinstance(item, ast.FunctionDef) and shown(item)]
        parts += ["\n".join(methods)] if methods else []
    return "\n\n".join(part for part in parts if part)


def page() -> str:
    """The whole document. Raises KeyError naming what is listed here and no longer there."""
    parts = [HEAD.strip()]
    for heading, lines in PAGES.items():
        parts.append(f"## {heading}")
        for line in lines:
            module, names = line.split(": ")
            tree = ast.parse((SOURCE / f"{module.replace('.', '/')}.py").read_text(encoding="utf-8"))
            found = {item.name: item for item in tree.body if isinstance(item, ast.FunctionDef | ast.ClassDef)}
            for name in names.split():
                if name not in found:
                    raise KeyError(f"{module} has no {name}; change PAGES in {Path(__file__).name}")
                parts.append(entry(module, found[name]))
    return "\n\n".join(parts) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path, help="the Markdown file to write")
    parser.parse_args().out.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
