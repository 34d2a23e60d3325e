"""The largest batch that runs, from a guess: steps that grow, then bisection.

    runs(N)   N+1 fails                              the guess was right: two questions
    runs(N)   N+1, N+3, N+7 … until one fails        then bisection between the last two

It takes batches above the first failure for failing. Fitting is not strictly monotone,
so that the answer is a batch that runs beside one that does not.
"""


def largest_that_runs(guess, runs):
    """`runs(batch)` is asked for each batch at most once; 0 if not even 1 runs."""
    asked = {0: True}

    def ask(batch):
        if batch not in asked:
            asked[batch] = runs(batch)
        return asked[batch]

    low = high = max(guess, 1)
    step = 1
    if ask(low):
        high = low + step
        while ask(high):
            step *= 2
            low, high = high, high + step
    else:
        low = max(high - step, 0)
        while not ask(low):
            step *= 2
            low, high = max(low - step, 0), low
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if ask(middle) else (low, middle)
    return low
