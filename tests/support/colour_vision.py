"""Distances between colours as they are seen with each kind of colour vision."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

#: Matrices that convert linear RGB to the colours seen with normal vision and with each kind of
#: dichromacy; from Machado, Oliveira and Fernandes 2009.
COLOUR_VISION: dict[str, ArrayLike] = {
    "normal": np.eye(3),
    "protanopia": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "deuteranopia": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
    "tritanopia": [
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.303900],
    ],
}
#: Matrix that converts linear RGB to the grey of a black-and-white print.
GREY = [[0.2126, 0.7152, 0.0722]] * 3

#: Matrix that converts linear RGB to CIE XYZ, divided by the white point.
TO_XYZ = np.array([
    [0.4339, 0.3762, 0.1899],
    [0.2126, 0.7152, 0.0722],
    [0.0177, 0.1095, 0.8728],
])  # fmt: skip


def smallest_distance(colours: Sequence[str], vision: ArrayLike) -> float:
    """Return the smallest distance in CIELAB between two colours, written as ``#rrggbb``.

    A distance of about 2.3 is just noticeable between areas side by side.
    """
    channels = np.array([list(bytes.fromhex(colour.strip("#"))) for colour in colours]) / 255
    light = np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
    x, y, z = np.cbrt(np.clip(light @ np.transpose(vision), 0, 1) @ TO_XYZ.T).T
    lab = np.array([116 * y, 500 * (x - y), 200 * (y - z)])
    distances = np.linalg.norm(lab[:, :, None] - lab[:, None], axis=0)
    return float(distances[np.triu_indices(len(colours), 1)].min())
