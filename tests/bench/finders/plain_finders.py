"""Finders that take a few lines of one's own: doubling and bisection, and a line through
the memory of small batches."""

from training import Training, is_of_memory

FRACTION = 0.6  # of the free memory; what is left is for what the line does not see
SMALL_BATCHES = (1, 2, 4, 8, 16)
MORE_BATCHES = (32, 64)  # on cards of 16 GiB and more
MORE_FROM_BYTES = 16 << 30
SENSIBLE = range(1, 1025)
DEFAULT_BATCH = 16  # what is answered if the line leads nowhere


def fits(run, training, batch):
    try:
        run(batch)
        return True
    except RuntimeError as error:
        if not is_of_memory(error):
            raise
    training.let_go()  # only out here, where the failed step's frames are gone
    return False


def doubling_and_bisection(job, device, log, first=2):
    """The largest batch that ran in this process; 0 if none did."""
    training = Training(job, device, log)
    low, high = 0, first
    while fits(training.trial, training, high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        if fits(training.trial, training, middle):
            low = middle
        else:
            high = middle
    return low


def line_through(points):
    """Slope and intercept of the line with the least squares."""
    mean_x = sum(x for x, _ in points) / len(points)
    mean_y = sum(y for _, y in points) / len(points)
    spread = sum((x - mean_x) ** 2 for x, _ in points)
    slope = sum((x - mean_x) * (y - mean_y) for x, y in points) / spread
    return slope, mean_y - slope * mean_x


def batch_on_line(points, bytes_wanted):
    slope, intercept = line_through(points)
    return int((bytes_wanted - intercept) / slope) if slope > 0 else 0


def fit_of_small_batches(job, device, log):
    """In the way of Ultralytics' autobatch: one forward and backward a batch without the
    optimizer's step, reserved memory after each, and the batch where the line through them
    reaches 60 % of what was free."""
    training = Training(job, device, log)
    free = device.cap_bytes - device.reserved_bytes() - device.allocated_bytes()

    def run(batch):
        log.begin(batch)
        training.forward_and_backward(batch)
        device.finish()
        log.finish()

    points = []
    largest = None
    for batch in SMALL_BATCHES + (MORE_BATCHES if device.cap_bytes >= MORE_FROM_BYTES else ()):
        device.empty_cache()
        if not fits(run, training, batch):
            break
        largest = batch
        points.append((batch, device.reserved_bytes()))
    else:
        largest = None  # nothing failed, so nothing bounds the line
    answer = batch_on_line(points, FRACTION * free) if len(points) > 1 else 0
    if largest is not None:
        answer = min(answer, largest)
    return answer if answer in SENSIBLE else DEFAULT_BATCH
