"""The colours of pictures and grids, for light and dark pages."""

from __future__ import annotations

INK = "#767676"  # of text: 4 to 1 and more on white and on nearly black
SERIES = ("#2f6f9f", "#d98324", "#4f9d69", "#a4508b", "#7a6ff0", "#b8453c", "#5f8a8b", "#8a7f3d")
LIGHT = ("#d98324", "#4f9d69", "#5f8a8b", "#8a7f3d")  # those on which text is dark
