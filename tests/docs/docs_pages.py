"""The pages that people read: their blocks, their commands, their headings and links."""

import re
import unicodedata
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
PROGRAMS = (
    "hnclip snakemake make python pytest pip cp export torchrun srun sbatch squeue scancel scontrol sinfo mkdocs ulimit"
).split()
# Alone, these words are a command; the others alone are the name of a program.
WHOLE = ("snakemake",)
SHELL = ("", "sh", "bash", "console")


@dataclass(frozen=True)
class Block:
    """A fenced block: the word behind its fence, its text, and the number of the fence's line."""

    page: str
    line: int
    language: str
    text: str


@dataclass(frozen=True)
class Command:
    """A command of a page, without the folder of its program and without a comment behind it."""

    page: str
    line: int
    text: str

    @property
    def place(self) -> str:
        return f"{self.page}:{self.line}: {self.text}"


def read(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def blocks(page: Path) -> list[Block]:
    found, text = [], read(page)
    for match in re.finditer(r"^( *)```(\w*)[^\n]*\n(.*?)^\1```", text, re.MULTILINE | re.DOTALL):
        body = re.sub(rf"^{match[1]}", "", match[3], flags=re.MULTILINE)
        found.append(Block(page.name, text[: match.start()].count("\n") + 1, match[2], body))
    return found


def prose(page: Path) -> str:
    """The page without its fenced blocks, on the same lines."""
    blank = re.compile(r"^( *)```.*?^\1```", re.MULTILINE | re.DOTALL)
    return blank.sub(lambda found: "\n" * found[0].count("\n"), read(page))


def bare(text: str) -> str:
    """A command without comment, prompt, and folder of its program."""
    text = re.sub(r"\s{2,}#.*$| # .*$", "", text.strip())
    return re.sub(r"^(\$ )?(\.venv/bin/)?", "", text).strip()


def program(line: str) -> str:
    """The first word behind the variables that a line sets."""
    return re.sub(r"^([A-Z_]+=\S* +)+", "", line).split(" ")[0]


def in_block(block: Block) -> list[Command]:
    """The commands of a shell block; lines that end with a backslash go on. Other lines are output."""
    joined = re.sub(r" *\\\n *", " ", block.text)
    lines = [(number, bare(line)) for number, line in enumerate(joined.split("\n"), block.line + 1)]
    return [Command(block.page, number, line) for number, line in lines if program(line) in PROGRAMS]


def inline(page: Path) -> list[Command]:
    """Commands between backticks; a name alone (`srun`, `hnclip doctor`) is none."""
    found, text = [], prose(page)
    for match in re.finditer(r"`([^`]+)`", text):
        line = bare(" ".join(match[1].split()))
        if program(line) in PROGRAMS and (line in WHOLE or " " in line) and not is_name(line):
            found.append(Command(page.name, text[: match.start()].count("\n") + 1, line))
    return found


def is_name(line: str) -> bool:
    """Whether this only names a command, its option or a module: `hnclip search --model`, `python -m hnclip.plan`."""
    return bool(re.fullmatch(r"hnclip [a-z]+( --[a-z-]+)?|python -m [\w.]+", line))


def named(page: Path) -> list[str]:
    """What the page only names."""
    return [line for match in re.finditer(r"`([^`]+)`", prose(page)) if is_name(line := bare(match[1]))]


def commands() -> list[Command]:
    """Every command of every page, each text once, in the order of pages and lines."""
    found: dict[str, Command] = {}
    for page in PAGES:
        shell = [command for block in blocks(page) if block.language in SHELL for command in in_block(block)]
        for command in [*shell, *inline(page)]:
            found.setdefault(command.text, command)
    return list(found.values())


def slug(heading: str) -> str:
    """The anchor that the site gives a heading (markdown's own `toc`)."""
    text = re.sub(r"[`*]|\[([^\]]*)\]\([^)]*\)", lambda found: found[1] or "", heading)
    text = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    return re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", text).strip().lower())


def anchors(page: Path) -> set[str]:
    return {slug(found) for found in re.findall(r"^#+ (.+)$", prose(page), re.MULTILINE)}


def links(page: Path) -> list[str]:
    """Targets of links and pictures, without those elsewhere on the web."""
    targets = re.findall(r"\]\(([^)\s]+)\)", prose(page))
    return [target for target in targets if not re.match(r"\w+:", target)]
