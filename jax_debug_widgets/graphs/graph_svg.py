"""Draw the graph as SVG in an `<img>`.

Front ends remove styles from a saved notebook, but not the styles inside an image.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator, Sequence
from html import escape

from jax_debug_widgets.graphs.layout import Placed, Scene, Wire
from jax_debug_widgets.graphs.tones import Tones

_STYLE = (
    "svg{--bg:#fff;--fg:#1b1f24;--fg2:#4d555e;--line:#d5d9de;--deep:#f6f7f9;--wire:#8b949e;--bad:#c62828;--fine:#1a7f37;"
    "--forward:#2a6fd6;--backward:#8250df;--recompute:#0a7490;--shade:#1f5fbf;"
    "--h0:#2a6fd6;--h1:#b8408f;--h2:#0c8f86;--h3:#76820f;--h4:#c2410c;--h5:#68707a}"
    "@media(prefers-color-scheme:dark){svg{--bg:#14171b;--fg:#e4e7eb;--fg2:#b3bac2;--line:#343b44;--deep:#1a1e23;"
    "--wire:#6e7781;--bad:#ff8a83;--fine:#57ab5a;--forward:#69a8ff;--backward:#b99af5;--recompute:#56c2e0;--shade:#69a8ff;"
    "--h0:#69a8ff;--h1:#f083bd;--h2:#3cc2b4;--h3:#b9c353;--h4:#f69d50;--h5:#9aa4ae}}"
    'text{font:10px system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans",sans-serif;fill:var(--fg2)}'
    '.n{font:12px ui-monospace,Menlo,Consolas,"DejaVu Sans Mono",monospace;fill:var(--fg)}'
    ".o{fill:var(--deep);stroke:var(--line)}.c{fill:var(--bg);stroke:var(--line)}"
    ".w{fill:none;stroke:var(--wire);stroke-linejoin:round}.s{fill:var(--line)}"
    ".role-forward{fill:var(--forward)}.role-backward{fill:var(--backward)}.role-recompute{fill:var(--recompute)}"
    ".bad{fill:var(--bad)}.fine{fill:var(--fine)}"
    + "".join(f".hue-{one}{{fill:var(--h{one})}}" for one in range(6))
    + "".join(f".shade-{one}{{fill:var(--shade);opacity:{0.12 + 0.22 * one:.2f}}}" for one in range(5))
)

_CHARACTERS = 22, 30
"""The most characters that fit into a box: in its title, and in the line below."""

_LEGEND = 26


def picture(scene: Scene, details: Sequence[str], tones: Tones, name: str) -> str:
    """Return the picture as an `<img>`; its alternative text names the boxes."""
    svg = drawing(scene, details, tones)
    data = base64.b64encode(svg.encode("utf-8", "backslashreplace")).decode()
    words = f"{name}: {', '.join(one.box.title for one in scene.placed if one.side == 'forward')}"
    return f'<img alt="{escape(words)}" style="display:block;max-width:100%" src="data:image/svg+xml;base64,{data}">'


def drawing(scene: Scene, details: Sequence[str], tones: Tones) -> str:
    """Return the picture as SVG."""
    width, height = round(scene.width), round(scene.height) + _LEGEND
    boxes = "".join(map(_box, scene.placed, details, tones.of))
    wires = "".join(_wire(one) for one in scene.wires if one.is_shown)
    marker = (
        '<marker id="a" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto-start-reverse">'
        '<path d="M1 1L7 4L1 7" fill="none" stroke="var(--wire)"/></marker>'
    )
    legend = "".join(_legend(tones, round(scene.height) + 17))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="-1 -1 {width + 2} {height + 2}">'
        f'<style>{_STYLE}</style><defs>{marker}</defs><rect x="-1" y="-1" width="{width + 2}" height="{height + 2}" '
        f'fill="var(--bg)"/>{boxes}{wires}{legend}</svg>'
    )


def _box(one: Placed, detail: str, tone: tuple[str, str]) -> str:
    title = f"∂ {one.box.title}" if one.side == "backward" and not one.is_open else one.box.title
    tip = f"<title>{escape(title)}: {escape(detail)}</title>"
    if one.is_open:
        many = f"{len(one.equations)} equations"
        what = f"  {one.box.what}" if one.box.what else ""
        return (
            f'<g>{tip}<rect class="o" rx="5" x="{one.x:.0f}" y="{one.y:.0f}" width="{one.width:.0f}" '
            f'height="{one.height:.0f}"/>{_text(one.x + 12, one.y + 17, _cut(title + what, int((one.width - 110) / 7.3)), "n")}'
            f"{_text(one.x + one.width - 12, one.y + 17, many, anchor='end')}</g>"
        )
    deeper = " ▸" if one.box.children else ""
    return (
        f'<g>{tip}<rect class="c" rx="4" x="{one.x:.0f}" y="{one.y:.0f}" width="{one.width:.0f}" height="{one.height:.0f}"/>'
        f'<rect class="{tone[0] or "s"}" x="{one.x:.0f}" y="{one.y + 3:.0f}" width="4" height="{one.height - 6:.0f}" rx="2"/>'
        f"{_text(one.x + 11, one.y + 15, _cut(title, _CHARACTERS[0] - len(deeper)) + deeper, 'n')}"
        f"{_text(one.x + 11, one.y + 29, _cut(detail, _CHARACTERS[1]))}</g>"
    )


def _wire(one: Wire) -> str:
    points = "L".join(f"{x:.0f} {y:.0f}" for x, y in one.points)
    return f'<path class="w" marker-end="url(#a)" d="M{points}"/>'


def _legend(tones: Tones, y: int) -> Iterator[str]:
    x = 8.0
    for tone, words in tones.legend:
        yield f'<rect class="{tone or "s"}" x="{x:.0f}" y="{y - 8}" width="8" height="8" rx="2"/>{_text(x + 13, y, words)}'
        x += 28 + 5.6 * len(words)


def _text(x: float, y: float, words: str, kind: str = "", anchor: str = "") -> str:
    about = (f' class="{kind}"' if kind else "") + (f' text-anchor="{anchor}"' if anchor else "")
    return f'<text x="{x:.0f}" y="{y:.0f}"{about}>{escape(words)}</text>'


def _cut(words: str, most: int) -> str:
    return words if len(words) <= most else f"{words[: max(1, most - 1)]}…"
