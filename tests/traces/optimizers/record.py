"""Records what Python's optimizers ask for in three steps, on the CPU.

    python tests/traces/optimizers/record.py > tests/traces/optimizers/torch-2.11.tsv

One step a line: algorithm, loop, step, then each request as its number and bytes
(`3:1200`) and each free as a minus and its number (`-3`). The CPU takes the same
tensors as a GPU does, and scalars besides, which are left out: a GPU passes them
as arguments, and keeps Adam's counters on the host unless it is fused.
"""

import warnings

import torch
from torch._C._profiler import _EventType
from torch.profiler import ProfilerActivity, profile

SIZES = (300, 1000, 40, 5000)  # float32 each
SCALAR_BYTES = 8
ALGORITHMS = {
    "sgd": (torch.optim.SGD, {}),
    "momentum": (torch.optim.SGD, {"momentum": 0.9}),
    "adam": (torch.optim.Adam, {}),
    "adamw": (torch.optim.AdamW, {}),
}
LOOPS = ("for_loop", "foreach", "fused")


def allocations(run):
    """(address, bytes) of each allocation; of each free, less the bytes."""
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiler:
        run()
    waiting = list(profiler.profiler.kineto_results.experimental_event_tree())
    found = []
    while waiting:
        node = waiting.pop()
        waiting += node.children
        if node.tag == _EventType.Allocation:
            found.append(node)
    found.sort(key=lambda node: node.start_time_ns)
    return [(node.extra_fields.ptr, node.extra_fields.alloc_size) for node in found]


def requests(events, keeps_counters):
    """The line's fields, without what is no tensor on a GPU."""
    lives = []  # [address, bytes, is freed]
    order = []
    for address, size in events:
        if size > 0:
            lives.append([address, size, False])
            order.append((len(lives) - 1, size))
        else:
            index = max(i for i, life in enumerate(lives) if life[0] == address)
            lives[index][2] = True
            order.append((index, 0))
    numbers = {}
    for index, (_, size, freed) in enumerate(lives):
        if size > SCALAR_BYTES or (keeps_counters and not freed):
            numbers[index] = len(numbers)
    return [
        f"{numbers[index]}:{size}" if size else f"-{numbers[index]}"
        for index, size in order
        if index in numbers
    ]


def main():
    warnings.simplefilter("ignore")
    print("# torch", torch.__version__, "sizes", *(4 * size for size in SIZES))
    for algorithm, (make, options) in ALGORITHMS.items():
        for loop in LOOPS:
            parameters = [torch.nn.Parameter(torch.randn(size)) for size in SIZES]
            fused = loop == "fused"
            optimizer = make(
                parameters, lr=1e-3, foreach=loop == "foreach", fused=fused, **options
            )
            for step in range(3):
                for parameter in parameters:
                    parameter.grad = torch.randn_like(parameter)
                fields = requests(allocations(optimizer.step), fused)
                print(algorithm, loop, step, *fields, sep="\t")


if __name__ == "__main__":
    main()
