"""accelerate's find_executable_batch_size, used as its documentation shows: the decorated
function makes model and optimizer anew and trains; after an error of memory it is called
again with nine tenths of the batch."""

from accelerate.utils import find_executable_batch_size

from training import Training

DEFAULT_START = 128


def find_from(start, job, device, log):
    @find_executable_batch_size(starting_batch_size=start)
    def train(batch_size):
        Training(job, device, log).trial(batch_size)
        return batch_size

    return train()


def default_start(job, device, log):
    return find_from(DEFAULT_START, job, device, log)


def start_of_1024(job, device, log):
    return find_from(1024, job, device, log)
