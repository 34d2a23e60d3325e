"""The libraries of the finders, and how long each took to import.

The server of fresh processes has this module loaded when it forks, so that a trial's
process costs no imports; SECONDS says what it would have cost. A library that is not
installed is left out.
"""

import time

SECONDS = {}

for _library in ("torch", "torchvision", "lightning.pytorch", "accelerate"):
    _begin = time.monotonic()
    try:
        __import__(_library)
    except ImportError:
        continue
    SECONDS[_library] = round(time.monotonic() - _begin, 3)
