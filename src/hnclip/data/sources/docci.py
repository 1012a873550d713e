"""DOCCI: photos with descriptions of 123 words (Onoe et al., ECCV 2024)."""

from hnclip.data.sources import File, Source

DATA = "https://storage.googleapis.com/docci/data/"

SOURCE = Source(
    name="docci",
    homepage="https://google.github.io/docci/",
    licence="CC BY 4.0",
    noncommercial=False,
    files=(
        File(
            name="docci_descriptions.jsonlines",
            url=DATA + "docci_descriptions.jsonlines",
            bytes=11_000_000,
            about="one line an image: example_id, split, image_file, description",
        ),
        File(
            name="docci_images.tar.gz",
            url=DATA + "docci_images.tar.gz",
            bytes=7_590_000_000,
            unpack=True,
            about="images/*.jpg, 14,847 photos",
        ),
    ),
)
