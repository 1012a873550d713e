"""What a section of the page is made of: its heading, two things side by side, a table."""

from collections.abc import Sequence

from hnclip.report.page import escape


def section(title: str, body: str) -> str:
    return f"<h2>{escape(title)}</h2>\n{body}"


def pair(left: str, right: str) -> str:
    return f'<div class="pair"><div>{left}</div><div>{right}</div></div>'


def toy(seen: bool) -> str:
    return ", as the toy tiny sees it" if seen else ""


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    head = "".join(f"<th>{escape(name)}</th>" for name in header)
    body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'
