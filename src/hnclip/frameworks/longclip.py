"""Full fine-tuning of the stretched backbone with the global image-caption term: the paper's plain row."""

from hnclip.frameworks.base import Batch, Framework


class LongClip(Framework):
    """Long captions against images, nothing else (Long-CLIP's start, arXiv 2403.15378, plain objective)."""

    def encode(self, batch: Batch) -> Batch:
        image_ND, _ = self.backbone.image(batch["image"], states=0)
        text_ND, _ = self.backbone.text(batch["text"], batch["text_length"], states=0)
        return {"image": image_ND, "text": text_ND}

    def losses(self, z, step, contrastive):
        return {"global": contrastive(z["image"], z["text"], self.backbone.scale(), step.ids_N)}
