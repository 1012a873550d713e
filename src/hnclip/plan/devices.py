"""Assumed speed of devices: operations a second that products sustain in a step, not what a data sheet promises."""

from dataclasses import dataclass

from hnclip.options import unknown


@dataclass(frozen=True)
class Device:
    """TFLOP/s sustained under mixed precision and in fp32 (no TF32, as torch computes by default), GB/s, GB."""

    mixed: float
    fp32: float
    bandwidth: float
    memory: float


# Mixed: about 30 % of the dense 16-bit peak, fp32 about 70 % of its peak. The Ascend's are what the paper's 55.5 images
# a second on DCI come to: 0.56 TFLOP a pair, all of the last blocks included. `--tflops` takes what you measured.
DEVICES = {
    "A100": Device(mixed=95, fp32=14, bandwidth=1500, memory=80),
    "H100": Device(mixed=280, fp32=45, bandwidth=3300, memory=80),
    "H200": Device(mixed=280, fp32=45, bandwidth=4800, memory=141),
    "L40S": Device(mixed=100, fp32=60, bandwidth=860, memory=48),
    "A10": Device(mixed=35, fp32=20, bandwidth=600, memory=24),
    "RTX4090": Device(mixed=50, fp32=50, bandwidth=1000, memory=24),
    "RTX3090": Device(mixed=22, fp32=22, bandwidth=930, memory=24),
    "T4": Device(mixed=18, fp32=5, bandwidth=300, memory=16),
    "910B": Device(mixed=33, fp32=33, bandwidth=1600, memory=64),
    "cpu": Device(mixed=0.05, fp32=0.05, bandwidth=8, memory=16),  # one core
}


def device(name: str, tflops: float | None = None) -> Device:
    """The device of this name; `tflops` replaces both of its rates."""
    if name not in DEVICES:
        raise ValueError(unknown("device", name, DEVICES))
    found = DEVICES[name]
    return found if tflops is None else Device(tflops, tflops, found.bandwidth, found.memory)
