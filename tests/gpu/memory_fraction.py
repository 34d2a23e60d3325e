"""torch limits its allocator by a fraction; a cap here is in bytes."""

import math


def fraction_for(cap, total):
    """The fraction of `total` that torch turns into `cap` bytes exactly."""
    fraction = cap / total
    while int(fraction * total) < cap:
        fraction = math.nextafter(fraction, 1)
    while int(fraction * total) > cap:
        fraction = math.nextafter(fraction, 0)
    return fraction
