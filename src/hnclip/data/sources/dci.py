"""DCI: photos of Segment Anything with captions of over 1,000 words, parts and whole (Urbanek et al., CVPR 2024)."""

from hnclip.data.sources import File, Source

SOURCE = Source(
    name="dci",
    homepage="https://github.com/facebookresearch/DCI",
    licence="CC BY-NC 4.0 (captions); SA-1B Dataset Research License (photos)",
    noncommercial=True,
    files=(
        File(
            name="dci.tar.gz",
            url="https://dl.fbaipublicfiles.com/densely_captioned_images/dci.tar.gz",
            sha256="d865c244150168d3f25daaad0bf5b70b2123cf3e83ca7b0e207d5b26943c5fc7",  # of DCI's own download script
            bytes=831_000_000,
            unpack=True,
            about="densely_captioned_images/{annotations,complete,photos,splits.json}, one JSON file an image",
        ),
        File(
            name="sa_000138.tar",
            url=None,
            bytes=11_000_000_000,
            unpack=True,
            about="the photos: shard sa_000138.tar of SA-1B, 11 GB. Accept the licence at "
            "https://ai.meta.com/datasets/segment-anything-downloads/ and take this one file of the list of links "
            "given there",
        ),
    ),
)
