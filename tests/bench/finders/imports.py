"""The libraries of the finders, and how long each took to import.

The server of fresh processes has this module loaded when it forks, so that a trial's
process costs no imports; SECONDS says what it would have cost. A library that
cannot be imported is left out.
"""

import time

SECONDS = {}

for _library in ("torch", "torchvision", "lightning.pytorch", "accelerate"):
    _begin = time.monotonic()
    try:
        __import__(_library)
    except Exception:  # whatever it is, its finder will say so
        continue
    SECONDS[_library] = round(time.monotonic() - _begin, 3)
