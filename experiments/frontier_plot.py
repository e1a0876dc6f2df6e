"""Budget against mean completion time as a picture, SVG and PNG."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt

from instances.files import write_whole

STYLES = {"exact": ("k-", 1.8), "randomised": ("C0:", 1.5)}
FEW = 4.0  # mean completion times beyond this multiple of the smallest are cut off


def write_plots(stem: Path, curves: Mapping[str, Sequence[tuple[float, float | None]]], title: str) -> None:
    """Write `stem`.svg and `stem`.png; `curves`: (budget, mean JCT in hours) by method. Raises InputError."""
    with plt.rc_context({"svg.hashsalt": "gapwise", "svg.fonttype": "none", "font.size": 9}):
        figure, axes = plt.subplots(figsize=(6.4, 3.8), layout="constrained")
        for i, (name, points) in enumerate(curves.items()):
            known = [(b, t) for b, t in points if t is not None]
            style, width = STYLES.get(name, (f"C{i}-", 1.0))
            axes.plot([b for b, _ in known], [t for _, t in known], style, linewidth=width, label=name)
        times = [t for points in curves.values() for _, t in points if t is not None]
        if times:
            axes.set_ylim(0, min(1.05 * max(times), FEW * min(times)))
        axes.set_xlabel("budget")
        axes.set_ylabel("mean job completion time, h")
        axes.set_title(title, fontsize=9)
        axes.grid(alpha=0.3)
        axes.legend(frameon=False)
        for side in ("top", "right"):
            axes.spines[side].set_visible(False)
        for suffix, extra in ((".svg", {"metadata": {"Date": None}}), (".png", {"dpi": 110})):
            picture = io.BytesIO()
            figure.savefig(picture, format=suffix[1:], **extra)
            write_whole(stem.with_suffix(suffix), picture.getvalue())
        plt.close(figure)
