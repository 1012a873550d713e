"""Shares as people read them."""


def percent(share: float) -> str:
    """A share (0..1) in per cent; what is not quite none or all is not rounded to it."""
    value = 100 * share
    if 0 < value < 0.05:
        return "< 0.1 %"
    if 99.95 <= value < 100:
        return "> 99.9 %"
    return f"{value:.0f} %" if value in (0, 100) or 10 <= value < 99 else f"{value:.1f} %"
