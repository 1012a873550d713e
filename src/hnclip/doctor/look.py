"""What the diagnosis's page adds to the look of all pages."""

LOOK = """
.verdict { border-left: 6px solid #56b4e9; background: #f3f8fc; padding: .8rem 1.2rem; margin: 1rem 0 1.4rem; }
.verdict.kind { border-color: #009e73; background: #f1f9f6; }
.verdict.apart, .verdict.flat, .verdict.short { border-color: #e69f00; background: #fdf8ee; }
.verdict.few, .verdict.one { border-color: #6b6b6b; background: #f5f5f5; }
.verdict h2 { border: 0; margin: 0 0 .3rem; font-size: 1.2rem; }
.verdict h2, .verdict p { max-width: none; white-space: normal; }
.loud, .faults, .looks { padding: .7rem 1.1rem; margin: 1rem 0; border-radius: 4px; }
.loud, .faults { border: 2px solid #d55e00; background: #fff6f0; }
.faults h2, .looks h2 { border: 0; margin: 0 0 .3rem; font-size: 1.05rem; }
.looks { border: 1px solid #d9c48a; background: #fffcf3; }
.faults ul, .looks ul { margin: .2rem 0 .5rem; padding-left: 1.2rem; font-size: .85rem; overflow-wrap: anywhere; }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(7.2rem, 1fr)); gap: .7rem; margin: 1rem 0; }
.tile { border: 1px solid #ddd; border-radius: 6px; padding: .55rem .8rem; }
.tile b { display: block; font-size: 1.35rem; font-weight: 600; line-height: 1.3; font-variant-numeric: tabular-nums; }
.tile span { font-size: .78rem; color: #4d4d4d; line-height: 1.35; display: block; }
.pair { display: grid; grid-template-columns: repeat(auto-fit, minmax(24rem, 1fr)); gap: 1.2rem; align-items: start; }
.pair > * { min-width: 0; }
.pair img.figure { width: 100%; }
.group .row { grid-template-columns: repeat(auto-fit, minmax(13rem, 1fr)); }
.group .row.few { grid-template-columns: repeat(4, minmax(0, 1fr)); }
.group { border-top: 1px solid #ddd; padding-top: .7rem; }
details > summary { cursor: pointer; color: #0072b2; }
figcaption details { display: inline; }
figcaption summary { display: inline; list-style: none; }
figcaption details[open] > summary { color: #8a8a8a; }
pre.try { background: #f6f6f6; border: 1px solid #ddd; border-radius: 4px; padding: .6rem .9rem; }
@media (max-width: 40rem) { .pair { grid-template-columns: 1fr; } }
"""
