"""The diagnosis as one self-contained HTML page."""

from collections.abc import Sequence
from pathlib import Path

from hnclip.doctor import sections, side_by_side
from hnclip.doctor.diagnosis import Diagnosis
from hnclip.doctor.look import LOOK
from hnclip.doctor.notes import loud, tiles
from hnclip.report.page import escape, page, paragraph, prose
from hnclip.store import write_text


def write_page(path: Path, found: Diagnosis) -> None:
    """Write the page, whole or not at all."""
    write_text(Path(path), made(found))


def made(found: Diagnosis) -> str:
    """The page's HTML."""
    found.captions.bring(side_by_side.shown(found))
    parts = [
        _about(found),
        *(f'<div class="loud">{prose(words)}</div>' for words in loud(found)),
        _verdict(found),
        _tiles(tiles(found)),
        _listed("faults", "Faults", found.captions.problems.kinds(), "They must be mended before training."),
        _listed("looks", "Worth a look", found.captions.warnings.kinds(), ""),
        sections.to_try(found),
        sections.lengths(found),
        sections.likeness(found),
        sections.batches(found),
        sections.saturation(found),
        side_by_side.duplicates(found),
        side_by_side.twins(found),
        sections.how(found),
    ]
    return page(f"Doctor: {found.captions.path.name}", "\n".join(filter(None, parts)), look=LOOK)


def _about(found: Diagnosis) -> str:
    asked, captions = found.asked, found.captions
    words = [f"captions: {asked.source.captions}"]
    words += [f"split: {asked.split}"] if asked.split else []
    words += [f"images: {asked.source.images or 'with the captions'}"] if captions.pictured else ["captions alone"]
    words += [f"model: {asked.model}"] + ([f"cosines by: {asked.text_model}"] if asked.text_model else [])
    return paragraph(" · ".join(words), "note") + "".join(paragraph(line, "note") for line in captions.told)


def _verdict(found: Diagnosis) -> str:
    verdict = found.verdict
    sentences = "".join(f"<p>{prose(sentence)}</p>" for sentence in verdict.sentences)
    return f'<div class="verdict {verdict.kind}"><h2>{escape(verdict.headline)}</h2>{sentences}</div>'


def _tiles(shown: Sequence[tuple[str, str]]) -> str:
    made = "".join(
        f'<div class="tile"><b>{escape(value)}</b><span>{escape(words)}</span></div>' for value, words in shown
    )
    return f'<div class="tiles">{made}</div>'


def _listed(kind: str, title: str, kinds: dict[str, list[str]], note: str) -> str:
    """Every item by its kind; long lists unfold."""
    if not kinds:
        return ""
    parts = [f'<div class="{kind}"><h2>{title}</h2>', paragraph(note, "note") if note else ""]
    for what, items in kinds.items():
        listed = "<ul>" + "".join(f"<li>{escape(item)}</li>" for item in items) + "</ul>"
        head = f"{escape(what)}: {len(items):,}"
        short = len(items) <= (10 if kind == "faults" else 3)
        parts.append(f"<p>{head}</p>{listed}" if short else f"<details><summary>{head}</summary>{listed}</details>")
    return "".join(parts) + "</div>"
