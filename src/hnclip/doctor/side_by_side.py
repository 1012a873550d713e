"""Captions that repeat each other and near-twins, side by side: the sections of the page that show the data itself."""

from collections.abc import Sequence

from hnclip.doctor.diagnosis import Diagnosis
from hnclip.doctor.gallery import SHOWN, row_of
from hnclip.doctor.repeats import NEAR
from hnclip.doctor.section import section, toy
from hnclip.report.page import paragraph
from hnclip.report.twins import Group, closest, groups, shared_words, typical

CLUSTERS = 6  # of each sort that are shown
TWINS = 4  # groups of each sort in the gallery


def shown(found: Diagnosis) -> list[int]:
    """The rows of the captions whose pictures are shown."""
    copies = [rows for clusters in (_same(found), _near(found)) for rows, _ in clusters[:CLUSTERS]]
    alike = [rows for _, _, groups in _twins(found) for _, rows in groups]
    return [row for rows in [*(_varied(found, rows) for rows in copies), *alike] for row in rows]


def _same(found: Diagnosis) -> list[tuple[list[int], float | None]]:
    return [(rows, None) for rows in found.repeats.exact]


def _near(found: Diagnosis) -> list[tuple[list[int], float | None]]:
    """Clusters of near copies that are not all the same words, and the least share of a pair along their chain."""
    repeats = found.repeats
    return [
        (rows, least)
        for rows, least in zip(repeats.near, repeats.least, strict=True)
        if len({int(repeats.exact_N[row]) for row in rows}) > 1
    ]


def duplicates(found: Diagnosis) -> str:
    note = (
        "No model has a part in this. The same words: whatever their case, spaces and marks. Near: two captions share "
        f"{NEAR:.0%} or more of their runs of three words, and a chain of such pairs makes a cluster (by MinHash: of "
        "pairs just at the bound 1 in 80 is missed). Clusters within one image do not count."
    )
    parts = [paragraph(_counted(found)), paragraph(note, "note")]
    for title, clusters in (("The same words", _same(found)), ("Near copies", _near(found))):
        if clusters:
            which = (
                f"the {CLUSTERS} largest of {len(clusters):,} clusters" if len(clusters) > CLUSTERS else "all clusters"
            )
            parts += [f"<h3>{title}: {which}</h3>", *(_cluster(found, *one) for one in clusters[:CLUSTERS])]
    return section("Duplicates", "\n".join(parts))


def _counted(found: Diagnosis) -> str:
    repeats, count = found.repeats, len(found.captions.rows)
    exact, near = repeats.rows(repeats.exact), repeats.rows(repeats.near)
    said = f"Of {count:,} captions {f'{exact:,} have' if exact else 'none has'} the same words as another image's"
    if exact:
        said += f" ({len(repeats.exact):,} clusters; {repeats.literal:,} letter for letter)"
    said += f", and {f'{near:,}' if near else 'none'} are near copies" if near or exact else " or is a near copy"
    return said + (f" ({len(repeats.near):,} clusters, copies included)." if near else ".")


def _cluster(found: Diagnosis, rows: Sequence[int], least: float | None) -> str:
    chosen = _varied(found, rows)
    words = f"{len(rows):,} captions" + (f", {len(chosen)} shown" if len(chosen) < len(rows) else "")
    words += f"; shared runs of words: {least:.0%} or more along the chain" if least is not None else ""
    return f'<section class="group">{row_of(found.captions, chosen)}{paragraph(words, "note")}</section>'


def _varied(found: Diagnosis, rows: Sequence[int]) -> list[int]:
    """The first captions of a cluster, each wording once before any twice."""
    first: dict[int, int] = {}
    for row in rows:
        first.setdefault(int(found.repeats.exact_N[row]), row)
    rest = [row for row in rows if row not in set(first.values())]
    return [*first.values(), *rest][:SHOWN]


def twins(found: Diagnosis) -> str:
    """Groups of captions that are hardest companions of each other."""
    alike = found.alike
    if alike is None:
        return ""
    parts = [
        paragraph(
            "Each row is a caption, its hardest companion, and further captions of other images close to both. "
            "Content words that all of a row have are marked; the rest tells the images apart."
        )
    ]
    for title, note, made in _twins(found):
        if made:
            parts += [f"<h3>{title}</h3>", paragraph(note, "note")]
        for group, rows in made:
            shared = shared_words(found.captions.rows[row].caption for row in rows)
            words = f"cosines in the row: mean {group.mean:.3f}, least {group.least:.3f}; shared words: {len(shared)}"
            parts.append(f'<section class="group">{row_of(found.captions, rows)}{paragraph(words, "note")}</section>')
    return section(f"Near-twins{toy(alike.toy)}", "\n".join(parts))


def _twins(found: Diagnosis) -> list[tuple[str, str, list[tuple[Group, list[int]]]]]:
    """Of each sort its title, a note, and its groups with their rows; a caption stands in one group at most."""
    alike, used = found.alike, set()
    if alike is None:
        return []
    sorts = (
        ("The closest", "They begin at the captions with the hardest companions.", closest),
        ("Typical", "They begin at the captions whose hardest companion is as hard as the median caption's.", typical),
    )
    sets = []
    for title, note, order in sorts:
        made = groups(alike.ids_M, alike.text_MD, alike.geometry, order(alike.geometry), TWINS, used)
        sets.append((title, note, [(group, [int(alike.rows_M[row]) for row in group.rows]) for group in made]))
    return sets
