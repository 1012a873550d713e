"""Urban-1K: 1,000 street photos with captions of 107 words (Zhang et al., Long-CLIP, ECCV 2024)."""

from hnclip.data.sources import File, Source

SOURCE = Source(
    name="urban1k",
    homepage="https://huggingface.co/datasets/BeichenZhang/Urban1k",
    licence="CC BY-NC 4.0",
    noncommercial=True,
    files=(
        File(
            name="Urban1k.zip",
            url="hub:datasets/BeichenZhang/Urban1k/Urban1k.zip",
            bytes=80_600_000,
            unpack=True,
            about="image/N.jpg and caption/N.txt, in a folder Urban1k",
        ),
    ),
)
