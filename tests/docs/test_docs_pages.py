"""The pages agree with what there is: links, commands, options, tests that they name, the API."""

import ast
import importlib.util
import re
from functools import cache
from pathlib import Path

import pytest
import typer
import yaml
from docs_how import FIRST, SAYS, SCRIPTS, SMALLER, TESTED
from docs_pages import PAGES, ROOT, anchors, blocks, commands, in_block, links, named, prose, read

from hnclip.cli.app import app

COMMANDS = commands()
TEXTS = {command.text for command in COMMANDS}
NAMES = typer.main.get_command(app).commands


@cache
def names_in(path: str) -> set[str]:
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


def missing(tests: list[str]) -> list[str]:
    """Those of `file::test` that are not there."""
    parts = [(name, *name.split("::")) for name in tests]
    return [name for name, path, test in parts if not (ROOT / path).is_file() or test not in names_in(path)]


def script(text: str) -> str | None:
    found = re.match(r"python benchmarks/(\w+\.py)", text)
    return found[1] if found else None


def has_tests(text: str) -> bool:
    return text in TESTED or script(text) in SCRIPTS


def options_of(name: str) -> set[str]:
    """What a command of `hnclip` may be given."""
    return {word for option in NAMES[name].params for word in [*option.opts, *option.secondary_opts]}


def source_of(text: str) -> Path | None:
    """The Python file that a `python ...` command runs."""
    if found := re.match(r"python ([\w/]+\.py)", text):
        return ROOT / found[1]
    if found := re.match(r"(?:python|torchrun\b.*|srun\b.*python) -m (hnclip[\w.]*)", text):
        path = ROOT / "src" / found[1].replace(".", "/")
        return path / "__main__.py" if path.is_dir() else path.with_suffix(".py")
    return None


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_and_anchors_lead_somewhere(page):
    broken = []
    for target in links(page):
        path, _, anchor = target.partition("#")
        there = (page.parent / path).resolve() if path else page
        if not there.exists() or (anchor and anchor not in anchors(there)):
            broken.append(target)
    assert not broken


def test_every_command_is_run_somewhere():
    """A reader's own words (`NAME`, `...`) cannot be run as they stand: such a command has a smaller form or a test."""
    own = r"\b(?!GPU\b|HF_|CUDA_|TERM\b|HOST\b.*CONFIG)[A-Z]{3,}\b(?!=)|\.\.\.|<\w+>"
    as_they_stand = [command for command in COMMANDS if command.text not in SMALLER and not has_tests(command.text)]
    assert [command.place for command in as_they_stand if re.search(own, command.text)] == []
    assert len(as_they_stand) > 5


def test_no_table_has_a_command_that_no_page_has():
    assert {*SMALLER, *TESTED, *SAYS} - TEXTS == set()
    assert set(SCRIPTS) - {script(text) for text in TEXTS} == set()
    assert [start for start in FIRST if not any(text.startswith(start) for text in TEXTS)] == []
    assert set(SMALLER) & set(TESTED) == set()


def test_every_named_test_is_there():
    faq = re.findall(r"`(tests/[\w/]+\.py::\w+)`", read(ROOT / "docs" / "faq.md"))
    assert len(faq) > 30
    assert missing(sorted({*faq, *SCRIPTS.values(), *(name for names in TESTED.values() for name in names)})) == []


def test_every_answer_names_a_test():
    answers = re.split(r"^## ", prose(ROOT / "docs" / "faq.md"), flags=re.MULTILINE)[1:]
    assert [answer.splitlines()[0] for answer in answers if "*Tests*: `tests/" not in answer] == []


def test_every_option_is_one_of_its_command():
    """Also where a test runs the command in other words."""
    wrong = []
    for command in COMMANDS:
        options = set(re.findall(r"(?<= )--[a-z][a-z-]*", command.text.split(" | ")[0]))
        name = re.match(r"hnclip ([\w-]+)", command.text)
        if name and name[1] in NAMES:
            known = options_of(name[1])
        elif path := source_of(command.text):
            options -= set(
                re.findall(r"--[a-z][a-z-]*", command.text.split(" -m ")[0]) if " -m " in command.text else ()
            )
            texts = [read(found) for found in [path, *(ROOT / "benchmarks").glob("common.py")]]
            known = {word for text in texts for word in re.findall(r"\"(--[a-z][a-z-]*)\"", text)}
        else:
            continue
        wrong += [f"{command.place}: {option}" for option in options - known]
    assert wrong == []


def test_what_is_named_is_there():
    for page in PAGES:
        for line in named(page):
            program, *words = line.split()
            if program == "hnclip":
                assert words[0] in NAMES, f"{page.name}: {line}"
                assert set(words[1:]) <= options_of(words[0]), f"{page.name}: {line}"
            else:
                assert source_of(line).is_file(), f"{page.name}: {line}"


def long_options(text: str) -> set[str]:
    return set(re.findall(r"`(--[a-z][a-z-]*)`", text))


def told_options() -> dict[str, set[str]]:
    """Each command's options by `commands.md`: of the sections that its heading names, and of rows with its name."""
    parts = re.split(r"^## ", read(ROOT / "docs" / "commands.md"), flags=re.MULTILINE)[1:]
    told: dict[str, set[str]] = {name: {"--json", "--help"} for name in NAMES}
    for part in parts:
        heading, _, text = part.partition("\n")
        owners = [name for name in heading.split(", ") if name in NAMES]
        for row in re.findall(r"^\| .*$", text, re.MULTILINE) if len(owners) != 1 else ():
            first, second, *_ = (cell.strip() for cell in row.strip("|").split("|"))
            names = [name for name in re.findall(r"`(\w+)`", f"{first} {second}") if name in NAMES]
            for name in names:
                told[name] |= long_options(f"{first} {second}")
        for name in owners if len(owners) == 1 else ():
            told[name] |= long_options(text)
    return told


def test_the_page_of_the_commands_has_every_option_of_each_and_no_other():
    told = told_options()
    known = {name: {word for word in options_of(name) if word.startswith("--")} | {"--help"} for name in NAMES}
    assert {name: sorted(told[name] ^ known[name]) for name in NAMES if told[name] != known[name]} == {}


def test_a_shell_block_has_nothing_but_commands():
    """Output has a fence of its own, `text`; so a command whose program is not known here does not pass unseen."""
    wrong = []
    for page in PAGES:
        for block in blocks(page):
            if block.language in ("sh", "bash"):
                joined = re.sub(r" *\\\n *", " ", block.text)
                lines = [line for line in joined.splitlines() if line.strip() and not line.startswith("#")]
                wrong += [] if len(lines) == len(in_block(block)) else [f"{page.name}:{block.line}"]
    assert wrong == []


def test_the_site_has_every_page():
    site = yaml.safe_load(read(ROOT / "mkdocs.yml"))
    listed = re.findall(r"[\w]+\.md", str(site["nav"]))
    assert sorted(listed) == sorted(page.name for page in PAGES[1:])
    assert site["theme"]["font"] is False and site["use_directory_urls"] is False


def test_the_api_is_that_of_the_sources():
    spec = importlib.util.spec_from_file_location("api", ROOT / "docs" / "scripts" / "api.py")
    api = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(api)
    assert api.page() == read(ROOT / "docs" / "api.md"), "run `python docs/scripts/api.py docs/api.md`"
