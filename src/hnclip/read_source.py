"""What a name in a module of hnclip stands for, worked out from the source alone: importing it would load torch.

A definition is evaluated with what it names and nothing else of its module: literals, dataclasses, small functions,
names from hnclip's other modules and the standard library. What rests on anything else cannot be told so.
"""

import ast
import copy
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple


class Untold(Exception):
    """What a name stands for rests on more than the source tells."""


@dataclass(eq=False)
class Source:
    """A module that is not imported: what each of its names is given by, and the values worked out so far.

    A name that is given twice, or under a condition, has None.
    """

    module: str
    given: dict[str, "ast.stmt | Imported | None"] = field(default_factory=dict)
    values: dict[str, Any] = field(default_factory=dict)
    at_work: set[str] = field(default_factory=set)


class Imported(NamedTuple):
    """A name that is imported: of which module, and which of its names (None: the module itself)."""

    module: str
    name: str | None


class Definition(NamedTuple):
    """A statement that gives a name its meaning, and the module in which it stands."""

    source: Source
    node: ast.stmt


def source(module: str) -> Source:
    """The source of a module. Raises Untold where there is none, SyntaxError where it is no Python."""
    try:
        found = find_spec(module)
    except ModuleNotFoundError:
        found = None
    if found is None or not found.has_location:
        raise Untold(module)
    return _read(module, found.origin)


@cache
def _read(module: str, path: str) -> Source:
    read = Source(module, values={"__name__": module})
    for node in ast.parse(Path(path).read_text(encoding="utf-8")).body:
        for name, by in _names(node):
            read.given[name] = None if name in read.given else by
    return read


def _names(node: ast.stmt) -> Iterator[tuple[str, "ast.stmt | Imported | None"]]:
    """The names that a statement of a module gives, each with what it is given by."""
    if isinstance(node, ast.ClassDef | ast.FunctionDef):
        yield node.name, node
    elif isinstance(node, ast.ImportFrom):
        yield from ((each.asname or each.name, Imported(node.module or "", each.name)) for each in node.names)
    elif isinstance(node, ast.Import):
        for each in node.names:
            yield each.asname or each.name.partition(".")[0], None if "." in each.name else Imported(each.name, None)
    else:
        single = _target(node)
        for part in (part for target in _targets(node) for part in ast.walk(target)):
            if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
                yield part.id, node if part.id == single else None
            elif isinstance(part, ast.ClassDef | ast.FunctionDef):
                yield part.name, None
            elif isinstance(part, ast.alias):
                yield part.asname or part.name.partition(".")[0], None


def _targets(node: ast.stmt) -> list[ast.AST]:
    """Where a statement may give names: the left side of an assignment, or anywhere in it."""
    if isinstance(node, ast.Assign):
        return node.targets
    return [node.target] if isinstance(node, ast.AnnAssign | ast.AugAssign) else [node]


def _target(node: ast.stmt) -> str | None:
    """The one name that an assignment gives a value."""
    if isinstance(node, ast.Assign) and len(node.targets) == 1:
        return getattr(node.targets[0], "id", None)
    if isinstance(node, ast.AnnAssign) and node.value is not None:
        return getattr(node.target, "id", None)
    return None


def look_up(where: Source, name: str) -> Definition | Source | Any:
    """What a name of a module is: a definition in the source of hnclip, one of its modules, or a thing of the library.

    Raises Untold for anything else.
    """
    by = where.given.get(name)
    if by is None:
        raise Untold(f"{where.module}.{name}")
    if not isinstance(by, Imported):
        return Definition(where, by)
    top = by.module.partition(".")[0]
    if top in sys.stdlib_module_names:
        found = import_module(by.module)
        return found if by.name is None else getattr(found, by.name)
    if top != __package__:
        raise Untold(f"{where.module}.{name}")
    inside = source(by.module)
    if by.name is None:
        return inside
    return look_up(inside, by.name) if by.name in inside.given else source(f"{by.module}.{by.name}")


def classes(where: Source) -> list[Definition]:
    """The classes that a module defines."""
    return [Definition(where, by) for by in where.given.values() if isinstance(by, ast.ClassDef)]


def ancestors(of: Definition) -> list[Definition | str]:
    """A class and those that it has attributes from, in the order in which they are asked; others' classes as text."""
    found: list[Definition | str] = []
    for base in of.node.bases:
        try:
            meant = _meant(of.source, base)
        except Untold:
            meant = None
        found += ancestors(meant) if _is_class(meant) else [ast.unparse(base)]
    return [of, *(each for number, each in enumerate(found) if each not in found[number + 1 :])]


def member(of: Definition, name: str) -> Definition | None:
    """What gives a class this attribute, in the class or those that it rests on; None where nothing does.

    Raises Untold where a class that is not hnclip's is asked first.
    """
    for each in ancestors(of):
        if isinstance(each, str):
            raise Untold(f"{of.node.name} rests on {each}")
        for node in each.node.body:
            if _target(node) == name or (isinstance(node, ast.ClassDef) and node.name == name):
                return Definition(each.source, node)
    return None


def _is_class(meant: Any) -> bool:
    return isinstance(meant, Definition) and isinstance(meant.node, ast.ClassDef)


def _meant(where: Source, expression: ast.expr) -> Definition | Source | None:
    """What `name` or `name.attribute` stands for, if it is defined in hnclip's own source; else None."""
    if isinstance(expression, ast.Name):
        if expression.id not in where.given:
            return None
        found = look_up(where, expression.id)
        return found if isinstance(found, Definition | Source) else None
    if isinstance(expression, ast.Attribute):
        of = _meant(where, expression.value)
        if isinstance(of, Source):
            found = look_up(of, expression.attr)
            return found if isinstance(found, Definition | Source) else None
        return member(of, expression.attr) if _is_class(of) else None
    return None


class _Attributes(ast.NodeTransformer):
    """Puts a name of its own in the place of `Class.attribute` and `module.name`, and their values under that name."""

    def __init__(self, where: Source):
        self.where = where

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        meant = _meant(self.where, node) if isinstance(node.ctx, ast.Load) else None
        if not isinstance(meant, Definition):
            return self.generic_visit(node)
        name = ast.unparse(node)  # with its point no name of the module is the same
        self.where.values[name] = evaluate(meant)
        return ast.copy_location(ast.Name(name, ast.Load()), node)


def evaluate(definition: Definition) -> Any:
    """The class, function or value that a definition makes. Raises Untold, or what evaluating it raises."""
    where, node = definition
    if any(isinstance(part, ast.Import | ast.ImportFrom) for part in ast.walk(node)):
        raise Untold(f"{where.module} imports inside a definition")
    node = _Attributes(where).visit(copy.deepcopy(node))
    for part in ast.walk(node):
        if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Load):
            _provide(where, part.id)
    name, made = f"<{where.module}>", {}
    if isinstance(node, ast.ClassDef | ast.FunctionDef):
        code = ast.fix_missing_locations(ast.Module([node], []))
        exec(compile(code, name, "exec", dont_inherit=True), where.values, made)
        return made[node.name]
    code = ast.fix_missing_locations(ast.Expression(node.value))
    return eval(compile(code, name, "eval", dont_inherit=True), where.values)


def _provide(where: Source, name: str) -> None:
    """Work out a name of the module that a definition of it uses; other names are the definition's own."""
    if "*" in where.given:
        raise Untold(f"{where.module} imports *")
    if name not in where.given or name in where.values or name in where.at_work:
        return
    where.at_work.add(name)
    try:
        found = look_up(where, name)
        if isinstance(found, Source):
            raise Untold(f"{where.module}.{name} is a module")
        where.values[name] = evaluate(found) if isinstance(found, Definition) else found
    finally:
        where.at_work.discard(name)
