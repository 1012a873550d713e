"""Tables as Markdown and LaTeX (booktabs), from cells of plain text."""

from dataclasses import dataclass, field

_LATEX = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"$<$",
    ">": r"$>$",
    "β": r"$\beta$",
    "γ": r"$\gamma$",
    "Ḡ": r"$\bar{G}$",
    "−": r"$-$",
    "–": "--",
    "×": r"$\times$",
    "→": r"$\to$",
    "±": r"$\pm$",
    "†": r"$\dagger$",
    "‡": r"$\ddagger$",
}


@dataclass(frozen=True)
class Table:
    """One table: what it is called, its header, its rows, and what a reader must know, as sentences.

    `spans` is an optional upper header: (words, how many columns). `rules` holds the rows (0-based) under a line.
    The first `words` columns hold words and are set to the left, the others to the right.
    """

    title: str
    header: list[str]
    rows: list[list[str]]
    notes: list[str] = field(default_factory=list)
    spans: list[tuple[str, int]] = field(default_factory=list)
    rules: list[int] = field(default_factory=list)
    words: int = 1


def escape_latex(text: str) -> str:
    return "".join(_LATEX.get(character, character) for character in " ".join(text.split()))


def escape_markdown(text: str) -> str:
    escaped = "".join(f"\\{character}" if character in "\\|*_`<~" else character for character in text)
    return " ".join(escaped.split())


def markdown(tables: list[Table]) -> str:
    """Every table under its title, followed by its notes."""
    return "\n".join(_markdown(table) for table in tables)


def _markdown(table: Table) -> str:
    header = _flat_header(table)
    lines = [f"## {escape_markdown(table.title)}", ""]
    if table.rows:
        lines += [_markdown_row(header), _markdown_rule(table)]
        lines += [_markdown_row(row) for row in table.rows]
        lines.append("")
    lines += [f"- {escape_markdown(note)}" for note in table.notes]
    return "\n".join(lines) + "\n"


def _markdown_row(cells: list[str]) -> str:
    return "| " + " | ".join(escape_markdown(cell) for cell in cells) + " |"


def _markdown_rule(table: Table) -> str:
    return "|" + "|".join(["---"] * table.words + ["---:"] * (len(table.header) - table.words)) + "|"


def _flat_header(table: Table) -> list[str]:
    """The header with the upper header's words before each column, for formats without spans."""
    over = [words for words, width in table.spans for _ in range(width)] or [""] * len(table.header)
    return [f"{words} {name}".strip() for words, name in zip(over, table.header, strict=True)]


def latex(tables: list[Table]) -> str:
    """Every table as a `table` environment; needs the packages booktabs and graphicx."""
    return "% needs \\usepackage{booktabs,graphicx}\n" + "\n".join(_latex(table) for table in tables)


def _latex(table: Table) -> str:
    lines = ["\\begin{table}[t]", "\\centering", f"\\caption{{{escape_latex(table.title)}}}"]
    if table.rows:
        columns = "l" * table.words + "r" * (len(table.header) - table.words)
        lines += ["\\resizebox{\\textwidth}{!}{%", f"\\begin{{tabular}}{{{columns}}}", "\\toprule"]
        lines += _latex_spans(table) + [_latex_row(table.header), "\\midrule"]
        for index, row in enumerate(table.rows):
            lines += ["\\midrule"] if index and index in table.rules else []
            lines.append(_latex_row(row))
        lines += ["\\bottomrule", "\\end{tabular}}"]
    lines += ["\\par\\smallskip", "\\begin{minipage}{\\textwidth}\\footnotesize"]
    lines += [escape_latex(note) for note in table.notes]
    return "\n".join([*lines, "\\end{minipage}", "\\end{table}"]) + "\n"


def _latex_row(cells: list[str]) -> str:
    # A row that starts with "[" would be read as the optional argument of the row break before it.
    escaped = [escape_latex(cell) for cell in cells]
    return " & ".join(f"{{}}{cell}" if cell.startswith("[") else cell for cell in escaped) + r" \\"


def _latex_spans(table: Table) -> list[str]:
    if not table.spans:
        return []
    cells, rules, column = [], [], 1
    for words, width in table.spans:
        cells.append(f"\\multicolumn{{{width}}}{{c}}{{{escape_latex(words)}}}")
        if words:
            rules.append(f"\\cmidrule(lr){{{column}-{column + width - 1}}}")
        column += width
    return [" & ".join(cells) + r" \\", " ".join(rules)]
