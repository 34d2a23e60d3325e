"""Where a trial runs: a GPU under a cap, or the CPU with a limit of its own making."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "gpu"))
from memory_fraction import fraction_for  # noqa: E402

GIB = 1 << 30


class Gpu:
    """The first GPU, whose allocator may take `cap_bytes`."""

    name = "cuda"
    lightning_accelerator = "gpu"

    def __init__(self, cap_bytes):
        import torch

        self.cap_bytes = cap_bytes
        total_bytes = torch.cuda.mem_get_info()[1]
        torch.cuda.set_per_process_memory_fraction(fraction_for(cap_bytes, total_bytes))

    def admit(self, batch):
        """The allocator itself refuses."""

    def finish(self):
        import torch

        torch.cuda.synchronize()

    def empty_cache(self):
        import torch

        torch.cuda.empty_cache()

    def allocated_bytes(self):
        import torch

        return torch.cuda.memory_allocated()

    def reserved_bytes(self):
        import torch

        return torch.cuda.memory_reserved()


class PretendedGpu:
    """The CPU, on which batches up to `largest` run and others end as on a full GPU. What is
    reserved is a line of the batch that reaches the cap just above `largest`."""

    name = "cpu"
    lightning_accelerator = "cpu"
    CAP_BYTES = 1_000_000_000

    def __init__(self, largest):
        self.largest = largest
        self.cap_bytes = self.CAP_BYTES
        self.reserved = 0

    def admit(self, batch):
        import torch

        if batch > self.largest:
            raise torch.OutOfMemoryError(
                f"CUDA out of memory. Tried to allocate memory for batch {batch}, limit {self.largest}")
        self.reserved = max(self.reserved, int(self.cap_bytes * batch / (self.largest + 0.5)))

    def finish(self):
        pass

    def empty_cache(self):
        self.reserved = 0

    def allocated_bytes(self):
        return 0

    def reserved_bytes(self):
        return self.reserved
