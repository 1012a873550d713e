"""FAISS indexes of unit vectors by inner product, for folders where comparing with every vector takes too long.

Vectors are held in half precision here; whoever searches compares what was found with the exact ones. A vector is
known by a number of its own, so that others come and go without it being added again.
"""

from pathlib import Path
from typing import Literal

import faiss
import numpy as np

from hnclip.store import write_whole

Kind = Literal["flat", "ivf", "hnsw"]
FLAT_UP_TO = 50_000  # vectors; a full comparison of so many takes a few hundredths of a second
LINKS = 32  # neighbours of a vector in the graph of HNSW
BUILD_EFFORT = 80
TRAINED_ON = 64  # vectors for each list of IVF that its centre is learnt from
ADDED = 8192  # vectors read and added at once
EFFORTS = {
    "ivf": (4, 8, 16, 32, 64, 96, 128, 192, 256),
    "hnsw": (64, 128, 256, 512),
}  # lists looked into; candidates kept
ENOUGH = 0.98  # recall of texts at which the effort is not raised further
NEIGHBOURS, SAMPLE = 10, 500


def kind_for(count: int, asked: str, had: str | None = None) -> Kind:
    """The kind of an index over so many vectors; `had` is what it is now.

    `auto` compares with all up to FLAT_UP_TO, and above takes IVF, of which a search reads a part of the file only.
    """
    if asked != "auto":
        return asked
    return "flat" if count <= (FLAT_UP_TO if had in (None, "flat") else FLAT_UP_TO // 2) else "ivf"


def build(kind: Kind, vectors_ID: np.ndarray, ids_I: np.ndarray) -> faiss.Index:
    """A new index, `ivf` or `hnsw`, of unit vectors and their numbers; the vectors may lie in a file."""
    count, width = vectors_ID.shape
    half = faiss.ScalarQuantizer.QT_fp16
    if kind == "hnsw":
        graph = faiss.IndexHNSWSQ(width, half, LINKS, faiss.METRIC_INNER_PRODUCT)
        graph.hnsw.efConstruction = BUILD_EFFORT
        made = faiss.IndexIDMap(graph)
    else:
        lists = max(1, min(count // 4, round(2 * count**0.5)))
        centres = faiss.IndexFlatIP(width)
        made = faiss.IndexIVFScalarQuantizer(centres, width, lists, half, faiss.METRIC_INNER_PRODUCT, False)
        chosen = np.random.default_rng(0).choice(count, min(count, TRAINED_ON * lists), replace=False)
        made.cp.min_points_per_centroid = 1  # no warning for a small folder that was asked for as IVF
        made.train(np.ascontiguousarray(vectors_ID[np.sort(chosen)], np.float32))
    add(made, vectors_ID, ids_I)
    return made


def add(index: faiss.Index, vectors_ID: np.ndarray, ids_I: np.ndarray) -> None:
    """Add vectors under their numbers."""
    for start in range(0, len(ids_I), ADDED):
        rows = slice(start, start + ADDED)
        index.add_with_ids(np.ascontiguousarray(vectors_ID[rows], np.float32), np.ascontiguousarray(ids_I[rows]))


def remove(index: faiss.Index, kind: Kind, ids: np.ndarray) -> None:
    """Take vectors out; in a graph they stay as ways to others, and a search is told to leave them out."""
    if kind == "ivf" and len(ids):
        index.remove_ids(np.ascontiguousarray(ids, np.int64))


def outgrown(index: faiss.Index, kind: Kind, count: int) -> bool:
    """Whether an index that holds `count` living vectors should be built anew.

    A graph, when more than a fifth of it is dead; lists, when they have become four times as long or as short.
    """
    if kind == "hnsw":
        return index.ntotal > 1.25 * count
    usual = max(1, min(count // 4, round(2 * count**0.5)))
    return not usual / 2 <= index.nlist <= 2 * usual


def near(
    index: faiss.Index, kind: Kind, queries_QD: np.ndarray, count: int, effort: int, ids_I: np.ndarray
) -> np.ndarray:
    """Numbers of the `count` vectors likely nearest to each query, [Q, count]; -1 where fewer were found.

    `ids_I` are the numbers of the living vectors.
    """
    if kind == "hnsw":
        dead = np.setdiff1d(faiss.vector_to_array(index.id_map), ids_I, assume_unique=True)
        options = {"sel": faiss.IDSelectorNot(faiss.IDSelectorBatch(dead))} if len(dead) else {}
        asked = faiss.SearchParametersHNSW(efSearch=max(effort, count), **options)
    else:
        asked = faiss.SearchParametersIVF(nprobe=min(effort, index.nlist))
    return index.search(np.ascontiguousarray(queries_QD, np.float32), count, params=asked)[1]


def exact(queries_QD: np.ndarray, vectors_ID: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Cosines and rows of the `count` nearest of all vectors, [Q, count] each, the nearest first."""
    queries = np.ascontiguousarray(queries_QD, np.float32)
    return faiss.knn(queries, vectors_ID, min(count, len(vectors_ID)), metric=faiss.METRIC_INNER_PRODUCT)


def tuned(index: faiss.Index, kind: Kind, vectors_ID: np.ndarray, ids_I: np.ndarray) -> tuple[int, dict[str, float]]:
    """(the least effort that is enough, what it finds): the share of the ten nearest neighbours.

    `pictures`: of a sample of the vectors themselves, none counted as a neighbour of its own. `texts`: of the same
    moved by one common offset, as captions lie apart from pictures in CLIP; these need far more effort, and a search
    is mostly for a text.
    """
    random = np.random.default_rng(0)
    own_Q = np.sort(random.choice(len(ids_I), min(SAMPLE, len(ids_I)), replace=False))
    pictures_QD = np.ascontiguousarray(vectors_ID[own_Q], np.float32)
    texts_QD = moved(pictures_QD, random)
    nearest = exact(texts_QD, vectors_ID, NEIGHBOURS)
    for effort in EFFORTS[kind]:
        texts = recall(index, kind, texts_QD, vectors_ID, ids_I, effort, nearest)
        if texts >= ENOUGH or (kind == "ivf" and effort >= index.nlist):
            break
    nearest = exact(pictures_QD, vectors_ID, NEIGHBOURS + 1)
    pictures = recall(index, kind, pictures_QD, vectors_ID, ids_I, effort, nearest, own_Q)
    return effort, {"pictures": round(pictures, 4), "texts": round(texts, 4)}


def moved(pictures_QD: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """Unit vectors that stand to pictures as captions do in CLIP: all moved one way, at cosines of some 0.3."""
    offset_D = random.normal(size=pictures_QD.shape[1])
    queries_QD = 0.3 * pictures_QD + offset_D / np.linalg.norm(offset_D)
    return (queries_QD / np.linalg.norm(queries_QD, axis=1, keepdims=True)).astype(np.float32)


def recall(
    index: faiss.Index,
    kind: Kind,
    queries_QD: np.ndarray,
    vectors_ID: np.ndarray,
    ids_I: np.ndarray,
    effort: int,
    nearest: tuple[np.ndarray, np.ndarray],
    own_Q: np.ndarray | None = None,
) -> float:
    """The share of the true nearest that is found; one just as near as the last of them counts as true.

    `nearest` are the true ones, as of `exact`; `own_Q` the queries' own rows among them, which do not count.
    """
    found_QK = near(index, kind, queries_QD, nearest[1].shape[1], effort, ids_I)
    hit = of = 0
    for query, (cosines, rows, found) in enumerate(zip(*nearest, found_QK, strict=True)):
        own = -1 if own_Q is None else own_Q[query]
        true = cosines[rows != own][:NEIGHBOURS]
        place = rows_of(found[found >= 0], ids_I)
        place = place[place != own]
        of += len(true)
        hit += min(len(true), int((vectors_ID[place] @ queries_QD[query] >= true.min(initial=1) - 1e-5).sum()))
    return hit / of if of else 1.0


def rows_of(ids: np.ndarray, ids_I: np.ndarray) -> np.ndarray:
    """Where numbers stand among the ascending `ids_I`; those that are not there are left out."""
    place = np.searchsorted(ids_I, ids)
    inside = place < len(ids_I)
    inside[inside] = ids_I[place[inside]] == ids[inside]
    return place[inside]


def read(path: Path, whole: bool) -> faiss.Index:
    """The index in a file; where not read whole, a search reads the parts that it needs, and it cannot be changed.

    Raises FileNotFoundError or ValueError saying what to do.
    """
    if not path.is_file():
        raise FileNotFoundError(f"{path} is not there: an update replaced it just now, or it was removed; index again")
    try:
        return faiss.read_index(str(path), 0 if whole else faiss.IO_FLAG_MMAP)
    except RuntimeError as error:
        raise ValueError(
            f"{path} is damaged ({error}); remove it and index again: no image is embedded twice"
        ) from None


def write(path: Path, index: faiss.Index) -> None:
    write_whole(path, lambda part: faiss.write_index(index, str(part)))
