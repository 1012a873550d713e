"""Visual Genome's images with paragraphs (Krause et al., CVPR 2017; Krishna et al., IJCV 2017).

No address could be tried when this was written: that of the id lists and of the images are the publisher's, as widely
cited; the paragraphs' former address (visualgenome.org/static/data/dataset) moved to the one below.
"""

from hnclip.data.sources import File, Source

LISTS = "https://cs.stanford.edu/people/ranjaykrishna/im2p/"
IMAGES = "https://cs.stanford.edu/people/rak248/VG_100K_2/"
ANNOTATIONS = "https://homes.cs.washington.edu/~ranjay/visualgenome/data/dataset/"

SOURCE = Source(
    name="visual_genome",
    homepage="https://cs.stanford.edu/people/ranjaykrishna/im2p/index.html",
    licence="CC BY 4.0",
    noncommercial=False,
    files=(
        File(
            name="paragraphs_v1.json.zip",
            url=ANNOTATIONS + "paragraphs_v1.json.zip",
            bytes=4_000_000,
            unpack=True,
            about="paragraphs_v1.json: image_id, url, paragraph (address not tried)",
        ),
        *(
            File(
                name=f"{split}_split.json",
                url=f"{LISTS}{split}_split.json",
                bytes=200_000,
                about=f"the ids of the images of split {split} (address not tried)",
            )
            for split in ("train", "val", "test")
        ),
        File(
            name="images.zip",
            url=IMAGES + "images.zip",
            bytes=9_730_000_000,
            unpack=True,
            about="VG_100K/IMAGE_ID.jpg (address not tried)",
        ),
        File(
            name="images2.zip",
            url=IMAGES + "images2.zip",
            bytes=5_470_000_000,
            unpack=True,
            about="VG_100K_2/IMAGE_ID.jpg (address not tried)",
        ),
    ),
)
