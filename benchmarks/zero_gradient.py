"""At which gap plain InfoNCE and its gradient are exactly zero, by precision: `python benchmarks/zero_gradient.py`.

A batch of 16 whose every pair has the same cosine gap to each of its negatives, at s = 100. The loss is an exact zero
once its rounding says so; the gradient of the cosines once every element of it is. "fp32, then fp16" is what fp16
autocast does with a loss in fp32: the gradient is rounded to fp16 on its way into the towers, without a loss scaler.
"""

import torch
from torch.nn.functional import cross_entropy

PAIRS, SCALE = 16, 100.0
STEP, MOST = 0.001, 1.5  # of the gap, in units of cosine


def main() -> None:
    print(f"{'logits':<16} {'loss is 0 from a gap of':>24} {'gradient is 0 from':>20}")
    for words, logits, handed in (
        ("fp32", torch.float32, torch.float32),
        ("fp32, then fp16", torch.float32, torch.float16),
        ("fp16", torch.float16, torch.float16),
        ("bf16", torch.bfloat16, torch.bfloat16),
    ):
        gaps = {what: first_zero(what, logits, handed) for what in ("loss", "gradient")}
        print(f"{words:<16} {told(gaps['loss']):>24} {told(gaps['gradient']):>20}")


def first_zero(what: str, logits: torch.dtype, handed: torch.dtype) -> float | None:
    """The smallest gap at which the loss, or every element of its gradient, is exactly zero; None up to MOST."""
    for step in range(1, round(MOST / STEP) + 1):
        if exact_zero(what, step * STEP, logits, handed):
            return step * STEP
    return None


def exact_zero(what: str, gap: float, logits: torch.dtype, handed: torch.dtype) -> bool:
    cosine_NN = (gap * torch.eye(PAIRS)).to(logits).requires_grad_()
    loss = cross_entropy(SCALE * cosine_NN, torch.arange(PAIRS))
    if what == "loss":
        return loss.item() == 0
    loss.backward()
    return not cosine_NN.grad.to(handed).any()


def told(gap: float | None) -> str:
    return f"beyond {MOST}" if gap is None else f"{gap:.3f}"


if __name__ == "__main__":
    main()
