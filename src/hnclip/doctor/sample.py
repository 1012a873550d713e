"""Which images a diagnosis embeds where there are more captions than it should wait for."""

from collections.abc import Sequence

import numpy

from hnclip.report.geometry import number_images


def rows_of_images(
    ids_N: Sequence[str], captions: int | None, images: int | None = None, seed: int = 0
) -> numpy.ndarray:
    """Rows, ascending, of whole images drawn by chance: as many as `captions` rows hold, and `images` at most.

    None is no limit. At least two images where there are two.
    """
    image_N = number_images(ids_N)
    count_I = numpy.bincount(image_N)
    order_I = numpy.random.default_rng(seed).permutation(len(count_I))
    kept = len(order_I) if images is None else min(images, len(order_I))
    if captions is not None:
        kept = min(kept, int((count_I[order_I].cumsum() <= captions).sum()))
    return numpy.flatnonzero(numpy.isin(image_N, order_I[: max(2, kept)]))
