"""A cell's training recipe and its learning-rate schedule."""

import math
from dataclasses import dataclass

PRECISIONS = ("32-true", "bf16-mixed", "16-mixed")
STRATEGIES = ("ddp", "fsdp")
LOG_100 = math.log(100)


@dataclass(frozen=True)
class Recipe:
    """How a cell is trained. Every value comes from the config; the result is the last epoch.

    `batch` is what one loss sees, over all processes. `accumulate` adds the gradients of so many batches before a
    step: no pair gains a negative. `chunk` encodes a batch in parts of so many rows and still takes the exact
    gradient of the whole; `tile` compares so many rows at once with all others, for batches whose matrix of
    similarities is too large. `checkpoint_activations` computes the towers' activations again in the backward pass
    instead of keeping them. `gpus` on each of `nodes` are the processes that train the cell together, one a GPU, or
    on the CPU where there are none; `strategy: ddp` gives each the whole model, `fsdp` a share of it.
    `warmup` is the share of the run's steps in which the rate rises; `scale_clamp` bounds the log of the inverse
    temperature after each step, null leaves it free; `train_filter: local_pairs` leaves out images of which no region
    matches a sentence, in every framework alike; `version` is bumped when code changes results.
    """

    epochs: int
    batch: int
    accumulate: int
    chunk: int | None
    lr: float
    weight_decay: float
    betas: tuple[float, float]
    warmup: float
    schedule: str
    precision: str
    clip_norm: float | None
    scale_clamp: tuple[float, float] | None
    checkpoint_every: int
    eval_batch: int
    threads: int
    train_filter: str = "none"
    version: int = 1
    tile: int | None = None
    checkpoint_activations: bool = False
    gpus: int = 1
    nodes: int = 1
    strategy: str = "ddp"

    def __post_init__(self):
        problems = [
            f"`{name}` must be at least {least}, not {getattr(self, name)}"
            for name, least in (
                ("epochs", 1),
                ("batch", 2),
                ("accumulate", 1),
                ("checkpoint_every", 1),
                ("eval_batch", 1),
                ("threads", 1),
                ("gpus", 1),
                ("nodes", 1),
            )
            if getattr(self, name) < least
        ]
        for name in ("chunk", "tile"):
            value = getattr(self, name)
            if value is not None and value < 1:
                problems.append(f"`{name}` must be at least 1 or null, not {value}")
        if not 0 <= self.warmup < 1:
            problems.append(f"`warmup` is a share of the steps, 0 to below 1, not {self.warmup}")
        if self.train_filter not in ("none", "local_pairs"):
            problems.append(f"unknown `train_filter` {self.train_filter!r}; known: none, local_pairs")
        if self.schedule not in ("cosine", "constant"):
            problems.append(f"unknown `schedule` {self.schedule!r}; known: cosine, constant")
        if self.precision not in PRECISIONS:
            problems.append(f"unknown `precision` {self.precision!r}; known: {', '.join(PRECISIONS)}")
        if self.strategy not in STRATEGIES:
            problems.append(f"unknown `strategy` {self.strategy!r}; known: {', '.join(STRATEGIES)}")
        if self.strategy == "fsdp" and self.processes == 1:
            problems.append("`strategy: fsdp` shares a model among processes: it needs `gpus` or `nodes` above 1")
        if self.strategy == "fsdp" and self.chunk == 1:
            problems.append("`strategy: fsdp` needs a `chunk` of at least 2, so that processes encode in step")
        if self.strategy == "fsdp" and self.precision == "16-mixed":
            problems.append("`strategy: fsdp` goes with precision 32-true or bf16-mixed, not 16-mixed")
        if self.scale_clamp is not None and not self.scale_clamp[0] < self.scale_clamp[1]:
            problems.append(f"`scale_clamp` must rise from its first to its second value, not {self.scale_clamp}")
        if problems:
            raise ValueError("; ".join(problems))

    @property
    def processes(self) -> int:
        """How many processes train the cell together."""
        return self.gpus * self.nodes


def lr_factor(recipe: Recipe, step: int, steps: int) -> float:
    """What the peak rate is multiplied by at optimiser step `step` of `steps`: linear rise, then cosine to zero."""
    warm = round(recipe.warmup * steps)
    if step < warm:
        return (step + 1) / warm
    if recipe.schedule == "constant":
        return 1.0
    return 0.5 * (1 + math.cos(math.pi * (step - warm) / max(steps - warm, 1)))
