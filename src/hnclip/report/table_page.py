"""Tables as one self-contained HTML page, from cells of plain text; the CSV is one click away."""

from hnclip.report.contents import Entry
from hnclip.report.page import download, escape, page, prose
from hnclip.report.writer import Table

SHORT = 26  # characters of a cell that is not broken over lines


def table_page(name: str, entry: Entry, tables: list[Table], csv: str) -> str:
    """Every table with its title, its rows and its notes; csv is the text of NAME.csv."""
    links = f'<p class="note">{download(f"{name}.csv", csv.encode(), "text/csv", "All numbers as CSV")}</p>'
    return page(entry.title, "\n".join([links, *map(_section, tables)]), wide=True)


def _section(table: Table) -> str:
    parts = [f"<section><h2>{escape(table.title)}</h2>"]
    if table.rows:
        head = "".join(f"<tr>{cells}</tr>" for cells in (_spans(table), _cells(table, table.header, "th")) if cells)
        rows = "\n".join(_row(table, index) for index in range(len(table.rows)))
        parts.append(f'<div class="scroll"><table>\n<thead>{head}</thead>\n<tbody>\n{rows}\n</tbody></table></div>')
    if table.notes:
        notes = "".join(f"<li>{prose(note)}</li>" for note in table.notes)
        parts.append(f'<ul class="note">{notes}</ul>')
    return "\n".join([*parts, "</section>"])


def _spans(table: Table) -> str:
    return "".join(
        f'<th colspan="{width}" class="{"span" if words else "bare"}">{escape(words)}</th>'
        for words, width in table.spans
    )


def _row(table: Table, index: int) -> str:
    ruled = ' class="rule"' if index and index in table.rules else ""
    return f"<tr{ruled}>{_cells(table, table.rows[index], 'td')}</tr>"


def _cells(table: Table, cells: list[str], tag: str) -> str:
    return "".join(
        f'<{tag} class="{"words" if _worded(table, column) else "number"}{_short(cell)}">{escape(cell)}</{tag}>'
        for column, cell in enumerate(cells)
    )


def _worded(table: Table, column: int) -> bool:
    """Whether a column is set to the left: one of the first, or one that holds a sentence."""
    return column < table.words or any(not _short(row[column]) for row in table.rows)


def _short(cell: str) -> str:
    return " short" if len(cell) <= SHORT else ""
