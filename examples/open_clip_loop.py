"""The boosted loss in open_clip's own training loop, without network: a small random CLIP, four colours, four steps."""

import logging
from argparse import Namespace

import open_clip
import torch
from open_clip_train.train import train_one_epoch

from hnclip import BoostedClipLoss

logging.basicConfig(level=logging.INFO, format="%(message)s")
vision = {"image_size": 32, "layers": 2, "width": 64, "patch_size": 8}
text = {"context_length": 32, "width": 64, "heads": 2, "layers": 2}
model = open_clip.CLIP(32, vision, text, output_dict=True)
colours = {"red": (1, 0, 0), "green": (0, 1, 0), "blue": (0, 0, 1), "white": (1, 1, 1)}
images = torch.stack([torch.tensor(rgb).float().view(3, 1, 1).expand(3, 32, 32) for rgb in colours.values()])
texts = open_clip.SimpleTokenizer(context_length=32)([f"a plain {name} square" for name in colours])
batches = type("Batches", (list,), {"num_batches": 4, "num_samples": 16})([(images, texts)] * 4)
data = {"train": Namespace(dataloader=batches, set_epoch=lambda epoch: None)}
args = Namespace(device="cpu", precision="fp32", accum_freq=1, batch_size=4, grad_clip_norm=1.0, log_every_n_steps=1)
vars(args).update(rank=0, world_size=1, distill=False, skip_scheduler=True, wandb=False, horovod=False)
loss = BoostedClipLoss(local_loss=False, gather_with_grad=True, rank=args.rank, world_size=args.world_size, gamma=0.5)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
train_one_epoch(model, data, loss, 0, optimizer, None, None, None, args)
