"""The kinds of a search index against each other: `python benchmarks/search.py`.

100,000 random unit vectors of 512 numbers in clusters, no images. For each kind: seconds to build, bytes of its file,
the effort that a build chooses, its recall of the ten nearest, and the time of one query on one thread as a ratio to
the full comparison, both in turn. `pictures` are queries like the vectors; `texts` are the same queries moved by one
common offset, as captions lie apart from pictures in CLIP, which need far more effort.
"""

import argparse
import resource
import time
from itertools import cycle
from pathlib import Path
from tempfile import TemporaryDirectory

import faiss
import numpy as np
from common import interleaved, ratio

from hnclip.search import approximate


def unit(rows: np.ndarray) -> np.ndarray:
    return (rows / np.linalg.norm(rows, axis=-1, keepdims=True)).astype(np.float32)


def clustered(count: int, width: int, random: np.random.Generator) -> np.ndarray:
    """Unit vectors about 1,000 centres of unequal weight, which share half of their direction."""
    centres = unit(random.normal(size=(1000, width)) + random.normal(size=width))
    weights = random.dirichlet(np.full(1000, 0.5))
    found = np.empty((count, width), np.float32)
    for start in range(0, count, 10_000):
        rows = slice(start, min(start + 10_000, count))
        chosen = random.choice(1000, rows.stop - rows.start, p=weights)
        found[rows] = unit(centres[chosen] + 0.8 * random.normal(size=(len(chosen), width)) / width**0.5)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--vectors", type=int, default=100_000)
    parser.add_argument("--width", type=int, default=512)
    parser.add_argument("--queries", type=int, default=200, help="queries timed, one at a time (default 200)")
    parser.add_argument("--kinds", nargs="+", default=["ivf", "hnsw"])
    given = parser.parse_args()
    random = np.random.default_rng(0)
    everything = clustered(given.vectors + given.queries, given.width, random)
    ids_I = np.arange(given.vectors)
    pictures = everything[given.vectors :]
    texts = approximate.moved(pictures, random)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "vectors.f32"
        everything[: given.vectors].tofile(path)
        vectors_ID = np.memmap(path, np.float32, "r", shape=(given.vectors, given.width))
        print(f"flat: {path.stat().st_size / 1e6:.0f} MB")
        for kind in given.kinds:
            measure(kind, vectors_ID, ids_I, pictures, texts, Path(folder))


def measure(
    kind: approximate.Kind,
    vectors_ID: np.ndarray,
    ids_I: np.ndarray,
    pictures: np.ndarray,
    texts: np.ndarray,
    folder: Path,
) -> None:
    start = time.perf_counter()
    index = approximate.build(kind, vectors_ID, ids_I)
    built = time.perf_counter() - start
    effort, own = approximate.tuned(index, kind, vectors_ID, ids_I)
    path = folder / f"{kind}.faiss"
    approximate.write(path, index)
    del index
    start = time.perf_counter()
    index = approximate.read(path, whole=False)
    opened = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(f"{kind}: built in {built:.1f} s, {path.stat().st_size / 1e6:.0f} MB, opened in {opened * 1000:.1f} ms")
    vectors = vectors_ID.nbytes * 2 // 10**6
    print(f"  memory: the process had at most {peak} MB so far, {vectors} of them the vectors, twice")
    for name, queries in (("pictures", pictures), ("texts", texts)):
        nearest = approximate.exact(queries, vectors_ID, approximate.NEIGHBOURS)
        for tried in sorted({effort, *approximate.EFFORTS[kind]}):
            found = approximate.recall(index, kind, queries, vectors_ID, ids_I, tried, nearest)
            chosen = f"  <- chosen by the build: {own}" if tried == effort else ""
            print(f"  {name}: effort {tried}: recall {found:.3f}{chosen}", flush=True)
    threads = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(1)
    turn = cycle(pictures[:, None])

    def searched() -> None:
        approximate.near(index, kind, next(turn), 20, effort, ids_I)

    def compared() -> None:
        approximate.exact(next(turn), vectors_ID, 20)

    seconds = interleaved(searched, compared, len(pictures))
    print("  one query: {} / flat = {:.4f} (95 % interval {:.4f} to {:.4f})".format(kind, *ratio(seconds)))
    print("  medians: {} {:.2f} ms, flat {:.2f} ms".format(kind, *np.median(seconds, axis=0) * 1000), flush=True)
    faiss.omp_set_num_threads(threads)


if __name__ == "__main__":
    main()
